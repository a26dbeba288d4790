// How long a run of 10 ms holds its slot, commit included: the median of grant to end, and the mean that follows from the whole cycle's time.
// slot.ts FOLDER
import { join } from 'node:path';
import { systemClock } from '../../runner/clock.ts';
import type { Source, Step } from '../../runner/execute/index.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { GUARD, Local, percentile } from './local.ts';

const RUNS = 400;
const SLOTS = 8;
const RUN_MS = 10;

/** Ten milliseconds by the clock: a timer alone fires up to one too late. */
const sleep: Step = {
  identity: 'sleep/1',
  run: async (elements) => {
    const untilMs = performance.now() + RUN_MS;
    await new Promise<void>((resolve) => setTimeout(resolve, RUN_MS - 1));
    while (performance.now() < untilMs) await new Promise<void>((resolve) => setImmediate(resolve));
    return elements;
  },
  close: async () => {},
};

const source: Source = {
  async *list() {
    yield Array.from({ length: RUNS }, (_, index) => ({ key: `item-${index}`, version: '1' }));
  },
  stat: async (key) => ({ key, version: '1' }),
  read: async () => ({ version: '1', bytes: new Uint8Array() }),
  close: async () => {},
};

const state = new SqliteState({ file: join(process.argv[2] ?? '.', 'slot.db'), clock: systemClock });
const epoch = await state.open('next');
const grantedAtMs = new Map<number, number>();
const heldMs: number[] = [];
const local = new Local({
  state,
  epoch,
  plan: { component: { steps: [{ verb: 'sleep', step: sleep }] }, targets: [] },
  sources: new Map([['items', { source, deleteGuard: GUARD }]]),
  slots: SLOTS,
  events: {
    granted: ({ number, kind }) => void (kind === 'item' && grantedAtMs.set(number, performance.now())),
    ended: ({ number }) => {
      const since = grantedAtMs.get(number);
      if (since !== undefined) heldMs.push(performance.now() - since);
    },
  },
});
const { tookMs } = await local.cycle('items');
await state.close();
heldMs.sort((a, b) => a - b);
process.stdout.write(JSON.stringify({ medianMs: percentile(heldMs, 0.5), meanMs: (tookMs * SLOTS) / RUNS }));
