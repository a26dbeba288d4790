// A small update of 40 runs beside a big one of 400, 10 ms each, on a pool of 8: runs of the big one that are done when the small one ends.
// Counted in runs, not in time: how fast this machine is does not matter much. The small one comes when the big one has the whole pool.
//   All runs of the big one end together, so it goes in waves of eight. The first wave gives the small root one slot, and while the root
//   lists (there and back over the link) the other seven go to the big one again: 8 + 7 are done before the small one has its half, and about 40
//   more in its ten waves. So a cycle comes to 51 to 56, where updates that need no root come to 48. The wave of the big one that ends with the last
//   task of the small one counts if it is heard of first, or if that task was not on the root's runner, which then hears of it a round trip later;
//   what lies above 56 is one more such wave. Without the machine: test/dispatch/fairness.test.ts.
import type { DispatchEvents } from '../../operator/dispatch/index.ts';
import { openField, update } from './field.ts';

const SLOTS = 8;
const EACH_MS = 10;
const BIG = 400;
const SMALL = 40;
const ROUNDS = 5;
const WARM_UP_ROUNDS = 3;

export interface FairnessOptions {
  /** One cycle of 40 runs, or 40 per-key updates of one live source. */
  readonly small: 'cycle' | 'keys';
  /** Whether a root run mounts all that it has in one turn, or one in each turn. */
  readonly mounting: 'together' | 'one by one';
}

/** One figure for each round. */
export async function bigDoneWhenSmallEnds({ small, mounting }: FairnessOptions): Promise<number[]> {
  const count = new BigCount();
  const field = await openField({ slotsMax: SLOTS, runnerSlots: SLOTS / 2, sources: ['big', 'small'], events: count });
  const { dispatcher } = field;
  const work = (children: number) => ({ children, eachMs: EACH_MS, window: mounting === 'together' ? children : 0 });
  const round = async () => {
    const isFull = count.begin();
    const big = update(dispatcher, 'big', work(BIG));
    await isFull;
    if (small === 'cycle') await update(dispatcher, 'small', work(SMALL));
    else await Promise.all(Array.from({ length: SMALL }, (_, i) => keyUpdate(i)));
    const { done } = count;
    await big;
    return done;
  };
  const keyUpdate = (i: number) =>
    new Promise<void>((resolve) => {
      const key = `file-${i}`;
      const observer = { ended: () => resolve() };
      dispatcher.startUpdate({
        kind: 'key',
        source: 'small',
        key,
        trigger: 'bench',
        input: { eachMs: EACH_MS },
        observer,
      });
    });
  for (let i = 0; i < WARM_UP_ROUNDS; i++) await round();
  const rounds: number[] = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push(await round());
  await field.close();
  return rounds;
}

/** Counts runs of the big update as the operator hears of them. */
class BigCount implements DispatchEvents {
  done = 0;
  #granted = 0;
  #isFull = Promise.withResolvers<void>();

  /** Resolves when the big update has all slots. */
  begin(): Promise<void> {
    this.done = 0;
    this.#granted = 0;
    this.#isFull = Promise.withResolvers();
    return this.#isFull.promise;
  }

  granted: NonNullable<DispatchEvents['granted']> = (run) => {
    if (run.update.start.source === 'big' && run.kind === 'item' && ++this.#granted === SLOTS) this.#isFull.resolve();
  };

  ended: NonNullable<DispatchEvents['ended']> = (run) => {
    if (run.update.start.source === 'big' && run.kind === 'item') this.done++;
  };
}
