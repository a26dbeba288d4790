// The index of real source files: first run, unchanged run, one file changed.
// files.ts FILES FOLDER code|text [POSTGRES_URL]
import { appendFileSync } from 'node:fs';
import { pathsIn } from './corpus.ts';
import { openIndex } from './indexing.ts';
import { cpuSeconds, Local } from './local.ts';
import { PeakMemory } from './memory.ts';

const [files = '.', folder = '.', by, url] = process.argv.slice(2);

const assembly = await openIndex({ files, home: folder, by: by === 'text' ? 'text' : 'code', url });
const { stores, plan, sources } = assembly;
const local = new Local({ state: stores.state, epoch: stores.epoch, plan, sources, slots: 64 });
const memory = new PeakMemory();
const beganCpuS = cpuSeconds();
const first = await local.cycle('files');
const firstCpuS = cpuSeconds() - beganCpuS;
const unchanged = await local.cycle('files');
appendFileSync(pathsIn(files)[0] as string, `\n// changed for ${by}\n`);
const one = await local.cycle('files');
if (one.ending.counts.reprocessed !== 1)
  throw new Error(`${one.ending.counts.reprocessed} files were reprocessed, not 1`);
process.stdout.write(
  JSON.stringify({
    firstS: first.tookMs / 1_000,
    firstCpuS,
    unchangedS: unchanged.tookMs / 1_000,
    oneFileS: one.tookMs / 1_000,
    rssMib: memory.stop().peakMib,
  }),
);
if (url !== undefined) for (const target of stores.targets) await target.drop();
await assembly.close();
