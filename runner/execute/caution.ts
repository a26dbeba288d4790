// Finds the item that takes its process down, however soon after its begin (F7). A process that dies says nothing, so what it was at must be
// on record before.
//   K1. Work that an update took over from a dead one goes on record before it begins; the rest does not, and costs the state nothing.
//       (What takes long goes on record too: endurance.ts.)
//   K2. What two processes died over executes alone, so that the third death names the guilty one.
//   K3. Who waits for his next attempt, or is cancelled, is at nothing: he goes off the record.
import { Parked } from './attempts.ts';
import { afterThisTurn, Batcher } from './batch.ts';
import { Cancelled } from './cancellation.ts';
import { Gate } from './gate.ts';
import type { StateStore, WorkEntry, WorkRef } from './ports.ts';
import type { Run } from './run.ts';

const BATCH_MAX = 1_000;
const ISOLATED_LOSSES = 2;

interface Mark {
  readonly ref: WorkRef;
  readonly isAtWork: boolean;
}

export class Caution {
  readonly #state: StateStore;
  readonly #gate = new Gate();
  readonly #marks: Batcher<Mark, undefined>;
  /** Paths of work that was taken over from a dead update and is not over yet. */
  readonly #takenOver = new Set<string>();

  constructor(state: StateStore) {
    this.#state = state;
    this.#marks = new Batcher((marks) => this.#mark(marks), { sizeMax: BATCH_MAX, gather: afterThisTurn });
  }

  takeOver(path: string): void {
    this.#takenOver.add(path);
  }

  isOver(path: string): void {
    this.#takenOver.delete(path);
  }

  /** The work of an item's run, done with the care that it needs. */
  async during<T>(run: Run, work: WorkEntry | undefined, execute: () => Promise<T>): Promise<T> {
    const waiting = this.#gate.enter((work?.losses ?? 0) >= ISOLATED_LOSSES, run.cancellation);
    if (waiting !== undefined) await waiting;
    run.isAtWork = true;
    try {
      if (this.#takenOver.has(run.order.path)) await this.#record(run);
      return await execute();
    } catch (thrown) {
      if (thrown instanceof Parked || thrown instanceof Cancelled) await this.forgive([run]);
      throw thrown;
    } finally {
      this.#gate.leave();
    }
  }

  /** Takes these runs off the record (K3). */
  async forgive(runs: readonly Run[]): Promise<void> {
    const recorded = runs.filter(({ isOnRecord }) => isOnRecord);
    if (recorded.length === 0) return;
    for (const run of recorded) run.isOnRecord = false;
    await Promise.all(recorded.flatMap(refOf).map((ref) => this.#marks.ask({ ref, isAtWork: false })));
  }

  async #record(run: Run): Promise<void> {
    run.isOnRecord = true;
    for (const ref of refOf(run)) await run.cancellation.race(this.#marks.ask({ ref, isAtWork: true }));
  }

  /** Who begins and is cancelled in one turn is off the record. */
  async #mark(marks: readonly Mark[]): Promise<readonly undefined[]> {
    const refs = (isAtWork: boolean) => marks.filter((mark) => mark.isAtWork === isAtWork).map(({ ref }) => ref);
    const [begun, rested] = [refs(true), refs(false)];
    try {
      if (begun.length > 0) await this.#state.startWork(begun);
      if (rested.length > 0) await this.#state.restWork(rested);
    } catch {
      // What cannot be written costs a later death one count, nothing else.
    }
    return marks.map(() => undefined);
  }
}

/** None: the run is not about an item. */
export function refOf({ order: { source, key, update } }: Run): WorkRef[] {
  return source === undefined || key === undefined ? [] : [{ source, key, update }];
}
