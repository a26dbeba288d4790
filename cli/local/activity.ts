// Whether something executes in a dispatcher, as a drain needs to know it. Fed by its events.
import type { DispatchEvents, RunView } from '../../operator/dispatch/index.ts';

/** Runs that list and mount; they are waited for only as long as something below them executes. */
export const ROOT_KINDS: ReadonlySet<RunView['kind']> = new Set(['cycle', 'pipeline', 'watch']);

/** A run that executes. */
interface Executing {
  readonly isRoot: boolean;
  /** Children that wait for a slot. */
  waitingChildren: number;
}

export class Activity implements DispatchEvents {
  readonly #executing = new Map<number, Executing>();
  readonly #waiting = new Set<number>();

  /** Whether a run below a root executes, rather than wait for children that cannot start. */
  get isWorking(): boolean {
    for (const run of this.#executing.values()) if (!run.isRoot && run.waitingChildren === 0) return true;
    return false;
  }

  requested(run: RunView): void {
    this.#waiting.add(run.number);
    this.#countChild(run, 1);
  }

  granted(run: RunView): void {
    this.#leaveQueue(run);
    this.#executing.set(run.number, { isRoot: ROOT_KINDS.has(run.kind), waitingChildren: 0 });
  }

  ended(run: RunView): void {
    this.#leave(run);
  }

  parked(run: RunView): void {
    this.#leave(run);
  }

  lost(run: RunView): void {
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
