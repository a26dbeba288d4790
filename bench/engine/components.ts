// Empty memoised components through the whole local engine: how many a second at first and unchanged, and what memory they take.
// components.ts COUNT FOLDER
import { join } from 'node:path';
import { systemClock } from '../../runner/clock.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { versionedItems } from './items.ts';
import { cpuSeconds, GUARD, Local } from './local.ts';
import { PeakMemory } from './memory.ts';

const [count = '20000', folder = '.'] = process.argv.slice(2);

const state = new SqliteState({ file: join(folder, 'components.db'), clock: systemClock });
const epoch = await state.open('next');
const sources = new Map([['items', { source: versionedItems(Number(count)), deleteGuard: GUARD }]]);
const plan = { component: { steps: [] }, targets: [] };
const local = new Local({ state, epoch, plan, sources, slots: 1_024 });
const memory = new PeakMemory();
const beganCpuS = cpuSeconds();
const first = await local.cycle('items');
const firstCpuS = cpuSeconds() - beganCpuS;
const unchanged = await local.cycle('items');
process.stdout.write(
  JSON.stringify({
    firstS: first.tookMs / 1_000,
    firstCpuS,
    unchangedS: unchanged.tookMs / 1_000,
    rssMib: memory.stop().peakMib,
  }),
);
await state.close();
