// Empty memoised components through the whole local engine: how many a second at first and unchanged, and what memory they take.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../runner/clock.ts';
import type { ListedItem, Source } from '../../runner/execute/index.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { type Result, result } from '../report.ts';
import { GUARD, Local } from './local.ts';

const BATCH = 1_000;

function emptyItems(count: number): Source {
  return {
    async *list() {
      for (let at = 0; at < count; at += BATCH) {
        yield Array.from({ length: Math.min(BATCH, count - at) }, (_, index) => itemAt(at + index));
      }
    },
    stat: async (key) => ({ key, version: '1' }),
    read: async () => ({ version: '1', bytes: new Uint8Array() }),
    close: async () => {},
  };
}

const itemAt = (index: number): ListedItem => ({ key: `items/${String(index).padStart(7, '0')}`, version: '1' });

async function measure(count: number, folder: string): Promise<readonly Result[]> {
  const state = new SqliteState({ file: join(folder, 'state.db'), clock: systemClock });
  const epoch = await state.open('next');
  const plan = { component: { steps: [] }, targets: [] };
  const sources = new Map([['items', { source: emptyItems(count), deleteGuard: GUARD }]]);
  const local = new Local({ state, epoch, plan, sources, slots: 1_024 });
  let peakBytes = 0;
  const sampler = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
  }, 20);
  const first = await local.cycle('items');
  const unchanged = await local.cycle('items');
  clearInterval(sampler);
  await state.close();
  const size = `${count / 1_000}k`;
  const rates = [
    result(`components-first-${size}`, count / (first.tookMs / 1_000), 'components/s'),
    result(`components-unchanged-${size}`, count / (unchanged.tookMs / 1_000), 'components/s'),
  ];
  return count < 100_000 ? rates : [...rates, result(`rss-${size}-mib`, peakBytes / 2 ** 20, 'MiB')];
}

const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
try {
  process.stdout.write(JSON.stringify(await measure(Number(process.argv[2] ?? 20_000), folder)));
} finally {
  rmSync(folder, { recursive: true });
}
