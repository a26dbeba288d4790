// What goes on in a dispatcher, as progress and a drain need it. Fed by its events.
import type { DispatchEvents, GrantReason, RunView } from '../../operator/dispatch/index.ts';
import { Activity as Slots } from '../../operator/host/index.ts';
import { pathKeys, type RunOutcome } from '../../runner/protocol/index.ts';
import type { FailedItem } from './report.ts';

/** Runs that list and mount; they are waited for only as long as something below them executes. */
const ROOT_KINDS = new Set(['cycle', 'pipeline', 'watch']);

/** A run that executes. */
interface Executing {
  readonly isRoot: boolean;
  /** Children that wait for a slot. */
  waitingChildren: number;
}

export class Activity implements DispatchEvents {
  /** Slots held and waited for, by source. */
  readonly slots = new Slots(() => {});
  readonly #executing = new Map<number, Executing>();
  readonly #waiting = new Set<number>();
  readonly #onFailed: (item: FailedItem, update: string) => void;

  constructor(onFailed: (item: FailedItem, update: string) => void) {
    this.#onFailed = onFailed;
  }

  /** Whether a run below a root executes, rather than wait for children that cannot start. */
  get isWorking(): boolean {
    for (const run of this.#executing.values()) if (!run.isRoot && run.waitingChildren === 0) return true;
    return false;
  }

  requested(run: RunView): void {
    this.slots.requested(run);
    this.#waiting.add(run.number);
    this.#countChild(run, 1);
  }

  granted(run: RunView, reason: GrantReason): void {
    this.slots.granted(run, reason);
    this.#leaveQueue(run);
    this.#executing.set(run.number, { isRoot: ROOT_KINDS.has(run.kind), waitingChildren: 0 });
  }

  ended(run: RunView, outcome: RunOutcome): void {
    this.slots.ended(run);
    this.#leave(run);
    if (outcome.kind !== 'failed' || ROOT_KINDS.has(run.kind)) return;
    const [source = '', key = ''] = pathKeys(run.path);
    const { step, message } = outcome.error;
    this.#onFailed({ source, key, message: step === undefined ? message : `${step}: ${message}` }, run.update.name);
  }

  parked(run: RunView): void {
    this.slots.parked(run);
    this.#leave(run);
  }

  lost(run: RunView): void {
    this.slots.lost(run);
    this.#leave(run);
  }

  #leave(run: RunView): void {
    this.#leaveQueue(run);
    this.#executing.delete(run.number);
  }

  #leaveQueue(run: RunView): void {
    if (this.#waiting.delete(run.number)) this.#countChild(run, -1);
  }

  #countChild({ parentRun }: RunView, change: 1 | -1): void {
    const parent = parentRun === undefined ? undefined : this.#executing.get(parentRun);
    if (parent !== undefined) parent.waitingChildren += change;
  }
}
