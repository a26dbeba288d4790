// How long a run of 10 ms holds its slot, commit included.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../runner/clock.ts';
import type { Source, Step } from '../../runner/execute/index.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { result } from '../report.ts';
import { GUARD, Local, percentile } from './local.ts';

const RUNS = 400;
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

const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
try {
  const state = new SqliteState({ file: join(folder, 'state.db'), clock: systemClock });
  const epoch = await state.open('next');
  const grantedAtMs = new Map<number, number>();
  const heldMs: number[] = [];
  const local = new Local({
    state,
    epoch,
    plan: { component: { steps: [{ verb: 'sleep', step: sleep }] }, targets: [] },
    sources: new Map([['items', { source, deleteGuard: GUARD }]]),
    slots: 8,
    events: {
      granted: ({ number, kind }) => void (kind === 'item' && grantedAtMs.set(number, performance.now())),
      ended: ({ number }) => {
        const since = grantedAtMs.get(number);
        if (since !== undefined) heldMs.push(performance.now() - since);
      },
    },
  });
  await local.cycle('items');
  await state.close();
  heldMs.sort((a, b) => a - b);
  process.stdout.write(JSON.stringify([result('slot-ms-per-10ms-run', percentile(heldMs, 0.5), 'ms')]));
} finally {
  rmSync(folder, { recursive: true });
}
