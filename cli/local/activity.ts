// What goes on in a dispatcher, as counts: for progress, for failed items, and to know when a drain is over. Fed by its events.
import type { DispatchEvents, GrantReason, RunView } from '../../operator/dispatch/index.ts';
import { pathKeys, type RunOutcome } from '../../runner/protocol/index.ts';
import type { FailedItem } from './report.ts';

interface Tracked {
  readonly isRoot: boolean;
  readonly isLoan: boolean;
  /** Children that wait for a slot. */
  waitingChildren: number;
}

/** Slots that one source's runs hold, and runs that wait for one. */
export interface Slots {
  held: number;
  waiting: number;
}

/** Group in which runs of the Pipeline's own updates are counted. */
export const PIPELINE_GROUP = '';

const ROOT_KINDS = new Set(['cycle', 'pipeline', 'watch']);
const groupOf = (run: RunView): string => run.update.start.source ?? PIPELINE_GROUP;

export class Activity implements DispatchEvents {
  readonly #slots = new Map<string, Slots>();
  readonly #inFlight = new Map<number, Tracked>();
  readonly #waiting = new Set<number>();
  readonly #onFailed: (item: FailedItem, update: string) => void;

  constructor(onFailed: (item: FailedItem, update: string) => void) {
    this.#onFailed = onFailed;
  }

  /** Slots of a live source, or of the Pipeline's own updates. */
  slotsOf(group: string): Slots {
    const known = this.#slots.get(group);
    if (known !== undefined) return known;
    const slots = { held: 0, waiting: 0 };
    this.#slots.set(group, slots);
    return slots;
  }

  /** Whether a run below a root executes, rather than wait for children that cannot start. */
  get isWorking(): boolean {
    for (const run of this.#inFlight.values()) if (!run.isRoot && run.waitingChildren === 0) return true;
    return false;
  }

  requested(run: RunView): void {
    this.#waiting.add(run.number);
    this.slotsOf(groupOf(run)).waiting++;
    this.#countChild(run, 1);
  }

  granted(run: RunView, { isLoan }: GrantReason): void {
    this.#leaveQueue(run);
    if (!isLoan) this.slotsOf(groupOf(run)).held++;
    this.#inFlight.set(run.number, { isRoot: ROOT_KINDS.has(run.kind), isLoan, waitingChildren: 0 });
  }

  ended(run: RunView, outcome: RunOutcome): void {
    this.#leave(run);
    if (outcome.kind !== 'failed' || ROOT_KINDS.has(run.kind)) return;
    const [source = '', key = ''] = pathKeys(run.path);
    const { step, message } = outcome.error;
    this.#onFailed({ source, key, message: step === undefined ? message : `${step}: ${message}` }, run.update.name);
  }

  parked(run: RunView): void {
    this.#leave(run);
  }

  lost(run: RunView): void {
    this.#leave(run);
  }

  #leave(run: RunView): void {
    this.#leaveQueue(run);
    const tracked = this.#inFlight.get(run.number);
    if (tracked === undefined) return;
    this.#inFlight.delete(run.number);
    if (!tracked.isLoan) this.slotsOf(groupOf(run)).held--;
  }

  #leaveQueue(run: RunView): void {
    if (!this.#waiting.delete(run.number)) return;
    this.slotsOf(groupOf(run)).waiting--;
    this.#countChild(run, -1);
  }

  #countChild({ parentRun }: RunView, change: 1 | -1): void {
    const parent = parentRun === undefined ? undefined : this.#inFlight.get(parentRun);
    if (parent !== undefined) parent.waitingChildren += change;
  }
}
