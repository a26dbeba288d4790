// A process of its own that commits without end until it is killed: `node commit.ts PLACE FROM`, where PLACE is a file or a Postgres URL.
// Each group moves a set of items from one generation to the next, rows of the shared target included, and says on its output which one
// is committed.

import { generation, KEYS } from './generations.ts';
import { openStores } from './stores.ts';

const { state, epoch } = await openStores(process.argv[2] ?? '');
for (let number = Number(process.argv[3] ?? 1); ; number++) {
  const records = await state.components(KEYS.map((key) => `docs/${key}`));
  const results = await state.commit(generation(number, epoch, records));
  if (results.some(({ kind }) => kind !== 'committed')) throw new Error(JSON.stringify(results));
  process.stdout.write(`${number}\n`);
}
