// A cycle of a source in which nothing changed: how many items a second are listed and compared, and by how much memory grows.
// catch-up.ts COUNT FOLDER [POSTGRES_URL]
import { join } from 'node:path';
import { systemClock } from '../../runner/clock.ts';
import { type Commit, planFingerprint, type StateStore } from '../../runner/execute/index.ts';
import { itemPath } from '../../runner/protocol/index.ts';
import { PostgresState, SqliteState } from '../../runner/state/index.ts';
import { itemAt, versionedItems } from './items.ts';
import { GUARD, Local } from './local.ts';
import { PeakMemory } from './memory.ts';

const GROUP = 1_000;
const [counted = '400000', folder = '.', url] = process.argv.slice(2);
const count = Number(counted);
const plan = { component: { steps: [] }, targets: [] };
const fingerprint = planFingerprint(plan);

const state =
  url === undefined
    ? new SqliteState({ file: join(folder, 'catch-up.db'), clock: systemClock })
    : new PostgresState({ url, schema: 'fairlead_bench', pipeline: 'bench/catch-up' });

/** What an index of these items left behind, written without an engine. */
async function fill(store: StateStore, epoch: number): Promise<void> {
  const commitOf = (index: number): Commit => {
    const { key, version } = itemAt(index);
    return {
      kind: 'replace',
      path: itemPath('items', key),
      token: { epoch, run: index + 1, attempt: 1 },
      item: { source: 'items', key, version },
      fingerprint,
      contentHash: `version ${version}`,
      rows: new Map(),
      changes: new Map(),
    };
  };
  for (let at = 0; at < count; at += GROUP) {
    await store.commit(Array.from({ length: Math.min(GROUP, count - at) }, (_, index) => commitOf(at + index)));
  }
}

await fill(state, await state.open('next'));
await state.close();
const epoch = await state.open('next');
const sources = new Map([['items', { source: versionedItems(count), deleteGuard: GUARD }]]);
const local = new Local({ state, epoch, plan, sources, slots: 1_024 });
const memory = new PeakMemory();
const { tookMs, ending } = await local.cycle('items');
if (ending.counts.unchanged !== count) throw new Error(`${ending.counts.unchanged} of ${count} were unchanged`);
process.stdout.write(JSON.stringify({ tookS: tookMs / 1_000, ...memory.stop() }));
if (state instanceof PostgresState) await state.drop();
await state.close();
