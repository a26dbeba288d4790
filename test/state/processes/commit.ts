// A process of its own that commits without end until it is killed: `node commit.ts FILE`. Each group moves a set of items from one
// generation to the next, rows of the shared target included, and says on its output which one is committed.
import { systemClock } from '../../../runner/clock.ts';
import { SqliteState } from '../../../runner/state/index.ts';
import { SqliteTarget } from '../../../runner/targets/index.ts';
import { generation, KEYS } from './generations.ts';

const target = new SqliteTarget({ name: 'vectors', table: 'chunks', pipeline: 'search/code' });
const state = new SqliteState({ file: process.argv[2] ?? '', clock: systemClock, shared: [target] });
const epoch = await state.open('next');
await target.prepare();
for (let number = Number(process.argv[3] ?? 1); ; number++) {
  const records = await state.components(KEYS.map((key) => `docs/${key}`));
  const results = await state.commit(generation(number, epoch, records));
  if (results.some(({ kind }) => kind !== 'committed')) throw new Error(JSON.stringify(results));
  process.stdout.write(`${number}\n`);
}
