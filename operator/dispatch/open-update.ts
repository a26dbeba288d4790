// Live sources and updates while they are open, as dispatch keeps them.
import {
  type ComponentPath,
  NO_COUNTS,
  type RunNumber,
  type SourceChange,
  type UpdateProgress,
} from '../../runner/protocol/index.ts';
import type { Branch, Limits } from '../admission/index.ts';
import type { LiveRun } from './live-run.ts';
import type { Cause, UpdateEnding, UpdateKind, UpdateObserver, UpdateStart, UpdateView } from './update.ts';

export interface SourceSettings {
  /** Share among its siblings (A11); absent: 1. */
  readonly weight?: number;
  readonly limits?: Limits;
}

export interface SourceStart extends SourceSettings {
  readonly name: string;
  /** What its watcher saw. */
  readonly onChanged?: (changes: readonly SourceChange[]) => void;
}

/** A live source: an object of the cluster, or one that a component mounted (A8). */
export class OpenSource {
  readonly name: string;
  readonly path: ComponentPath;
  readonly branch: Branch;
  /** Live source whose update mounted it. */
  readonly above: OpenSource | undefined;
  readonly onChanged: ((changes: readonly SourceChange[]) => void) | undefined;
  readonly updates = new Set<OpenUpdate>();
  watcher: LiveRun | undefined;
  /** Nothing new opens; the branch goes with the last update. */
  isClosing = false;

  constructor(start: SourceStart, path: ComponentPath, branch: Branch, above?: OpenSource) {
    this.name = start.name;
    this.path = path;
    this.branch = branch;
    this.above = above;
    this.onChanged = start.onChanged;
  }
}

/** Causes that an update remembers; a storm of changes has more. */
const CAUSES_MAX = 16;

export class OpenUpdate implements UpdateView {
  readonly name: string;
  readonly start: UpdateStart;
  readonly path: ComponentPath;
  readonly requestedAtMs: number;
  /** Its own place in the tree. For the bracket of a watcher, which is no update, the live source's. */
  readonly branch: Branch;
  /** Absent: an update of the Pipeline itself. */
  readonly of: OpenSource | undefined;
  /** Undefined: a run of it was reported, its root has not been. */
  root: LiveRun | undefined;
  observer: UpdateObserver | undefined;
  /** Taken over, and said so. */
  isAnnounced = false;
  /** Runs that execute though their parent's attempt is over. */
  readonly orphans = new Set<LiveRun>();
  /** Runners lost under components of it, for those that are to be mounted again. */
  readonly losses = new Map<ComponentPath, number>();
  /** Live runs in it, the root included. */
  liveRuns = 0;
  startedAtMs?: number;
  traceparent: string | undefined;
  readonly causes: Cause[];
  progress: UpdateProgress = { listed: false, total: 0, done: 0, counts: NO_COUNTS };
  ending?: UpdateEnding;
  cancelledWhy: string | undefined;

  constructor(
    name: string,
    start: UpdateStart,
    place: { readonly path: ComponentPath; readonly branch: Branch; readonly of: OpenSource | undefined },
    nowMs: number,
  ) {
    this.name = name;
    this.start = start;
    this.observer = start.observer;
    this.path = place.path;
    this.branch = place.branch;
    this.of = place.of;
    this.requestedAtMs = nowMs;
    this.causes = (start.causes ?? []).slice(0, CAUSES_MAX);
  }

  /** Something more wants what this update will do. */
  joinedBy(cause: Cause): void {
    if (this.causes.length < CAUSES_MAX) this.causes.push(cause);
  }

  get kind(): UpdateKind {
    return this.start.kind;
  }

  get trigger(): string {
    return this.start.trigger;
  }

  get rootRun(): RunNumber | undefined {
    return this.root?.number;
  }

  get isBracket(): boolean {
    return this.branch === this.of?.branch;
  }
}
