// Per-key updates: changes that a watcher saw come in, at most two updates of a key are open at any time.
//   T6. A change of a key whose newest update has not started joins it: that run will look at the source anyway.
//   T7. A change of a key whose update runs opens one more, which follows it (one execution at a time for each component).
//   T8. More than `KEY_UPDATES_MAX` open updates are not opened one by one: a full cycle takes the rest, so a storm (a branch switch, a restored
//       backup) costs one listing and bounded memory.

import type { SourceChange } from '../../runner/protocol/index.ts';
import type { Cause, UpdateEnding, UpdateObserver, UpdateView } from '../dispatch/index.ts';
import type { UpdateDoor } from './ports.ts';
import type { WatchedDeletes } from './watched-deletes.ts';

/** Trigger of updates that a watcher is the cause of. */
export const WATCH = 'watch';

/** Open per-key updates of one source beyond which a cycle is cheaper: a cycle compares 100,000 items a second, an update is a branch. */
export const KEY_UPDATES_MAX = 1_000;

/** Told about the per-key updates of one source. */
export interface KeyObserver {
  started?(update: UpdateView): void;
  ended?(update: UpdateView, ending: UpdateEnding): void;
}

/** What a change says of where it comes from. */
export function causeOf({ seenAtMs, revision, traceparent }: SourceChange, trigger: string): Cause {
  return {
    trigger,
    atMs: seenAtMs,
    ...(revision !== undefined && { revision }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

export class KeyUpdates {
  readonly #door: UpdateDoor;
  readonly #source: string;
  readonly #observer: KeyObserver;
  readonly #overflow: () => void;
  readonly #deletes: WatchedDeletes;
  /** Names of all open updates. */
  readonly #open = new Set<string>();
  /** The newest open update of each key. */
  readonly #newest = new Map<string, UpdateView>();

  constructor(options: {
    readonly door: UpdateDoor;
    readonly source: string;
    /** Called for changes that are not taken: a full cycle is due. */
    readonly overflow: () => void;
    readonly deletes: WatchedDeletes;
    readonly observer?: KeyObserver;
  }) {
    this.#door = options.door;
    this.#source = options.source;
    this.#overflow = options.overflow;
    this.#deletes = options.deletes;
    this.#observer = options.observer ?? {};
  }

  changed(change: SourceChange, trigger: string): void {
    const newest = this.#newest.get(change.key);
    const cause = causeOf(change, trigger);
    const isWatchedDelete = change.kind === 'removed' && trigger === WATCH;
    if (newest !== undefined && newest.startedAtMs === undefined) {
      this.#door.joinUpdate?.(newest.name, cause);
      return;
    }
    if (this.#open.size >= KEY_UPDATES_MAX) {
      this.#overflow();
      return;
    }
    if (isWatchedDelete && this.#deletes.leavesToCycle()) {
      this.#lookIfDue();
      return;
    }
    const update = this.#door.startUpdate({
      kind: 'key',
      source: this.#source,
      key: change.key,
      trigger,
      causes: [cause],
      input: { change: change.kind, seenAtMs: change.seenAtMs },
      observer: {
        started: (started) => this.#observer.started?.(started),
        ended: (ended, ending) => this.#ended(change.key, ended, ending),
      },
    });
    this.#newest.set(change.key, update);
    this.#open.add(update.name);
    if (isWatchedDelete) this.#deletes.opened(update.name);
  }

  #lookIfDue(): void {
    if (this.#deletes.takeDueCycle()) this.#overflow();
  }

  /** An update that an earlier operator opened goes on; the answer is to follow it. */
  adopt(update: UpdateView): UpdateObserver {
    const { key } = update.start;
    this.#open.add(update.name);
    return { ended: (ended, ending) => this.#ended(key ?? '', ended, ending) };
  }

  get open(): ReadonlySet<string> {
    return this.#open;
  }

  #ended(key: string, update: UpdateView, ending: UpdateEnding): void {
    if (this.#newest.get(key) === update) this.#newest.delete(key);
    this.#open.delete(update.name);
    if (update.trigger === WATCH) this.#deletes.ended(update.name, ending);
    this.#lookIfDue();
    this.#observer.ended?.(update, ending);
  }
}
