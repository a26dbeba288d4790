// From a saved file to its rows in the target, while a full index of the same source runs. Overwrites the files that it saves.
// freshness.ts FILES FOLDER
import { writeFileSync } from 'node:fs';
import { SourceTriggers } from '../../operator/triggers/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { pathsIn } from './corpus.ts';
import { openIndex } from './indexing.ts';
import { Local, percentile } from './local.ts';

const SAVES = 40;
const BETWEEN_MS = 150;
const GIVE_UP_MS = 30_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const [files = '.', folder = '.'] = process.argv.slice(2);
const paths = pathsIn(files);
const assembly = await openIndex({ files, home: folder, by: 'code', url: undefined });
const { stores, plan, sources } = assembly;
const [target] = stores.targets;
let triggers: SourceTriggers | undefined;
const local = new Local({
  state: stores.state,
  epoch: stores.epoch,
  plan,
  sources,
  slots: 8,
  onChanged: (changes) => triggers?.changed(changes),
});
triggers = new SourceTriggers({
  clock: systemClock,
  door: local.dispatcher,
  source: 'files',
  settings: { mode: 'Watch' },
});
local.dispatcher.watchSource('files');
triggers.start();
while ((await stores.state.extent('files')).items < 100) await pause(10);

const freshMs: number[] = [];
for (let save = 0; save < SAVES; save += 1) {
  const word = `freshness${save}x`;
  // From the end of the list: the full index has not come to them yet.
  const path = paths[paths.length - 1 - save] ?? '';
  writeFileSync(path, `// ${word}\n`);
  const savedMs = performance.now();
  while ((await target?.search?.({ text: word, limit: 1 }))?.[0]?.element.text?.includes(word) !== true) {
    if (performance.now() - savedMs > GIVE_UP_MS) throw new Error(`${path} was not searchable in ${GIVE_UP_MS} ms`);
    await pause(2);
  }
  freshMs.push(performance.now() - savedMs);
  await pause(BETWEEN_MS);
}
freshMs.sort((a, b) => a - b);
process.stdout.write(JSON.stringify({ p50Ms: percentile(freshMs, 0.5), worstMs: freshMs.at(-1) }));
for (const name of local.dispatcher.updates.keys()) local.dispatcher.cancelUpdate(name, 'the benchmark ended');
local.dispatcher.closeSource('files', 'the benchmark ended');
while (local.dispatcher.liveRuns > 0) await pause(10);
await assembly.close();
