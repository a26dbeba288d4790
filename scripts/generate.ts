// Writes what is generated from the code: `node scripts/generate.ts`. With `--check` it also fails if that changed
// anything, files that git does not know included; so a forgotten `make generate` shows before a push.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cliReference } from '../cli/reference.ts';
import { panels, picture, simulateTable } from '../cli/simulate/index.ts';
import { generatedFiles } from '../crds/emit/index.ts';
import { alertRules, grafanaDashboard, metricsReference } from '../operator/telemetry/index.ts';

/** Text of each generated file, by path. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const { first } = simulateTable(['fifo', 'fewest-held']);
  return new Map([
    ['docs/reference/cli.md', await cliReference()],
    ['docs/pictures/fairness.svg', picture(panels(first))],
    ['docs/reference/metrics.md', metricsReference()],
    ['charts/fairlead/files/alerts.json', alertRules()],
    ['charts/fairlead/files/dashboard.json', grafanaDashboard()],
    ...generatedFiles(),
    ['runner/protocol/link_pb.ts', linkCode()],
  ]);
}

/** TypeScript of the runner link's messages, made by buf and protoc-gen-es from `link.proto`. */
function linkCode(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-link-'));
  try {
    execFileSync('buf', ['generate', '--output', folder], { stdio: ['ignore', 'ignore', 'inherit'] });
    return readFileSync(join(folder, 'runner/protocol/link_pb.ts'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Hash of every file that git tracks or would add. */
function fingerprints(): Map<string, string> {
  const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { encoding: 'utf8' });
  const present = names.split('\0').filter((name) => name !== '' && existsSync(name));
  return new Map(present.map((name) => [name, createHash('sha1').update(readFileSync(name)).digest('hex')]));
}

if (import.meta.main) {
  const before = fingerprints();
  for (const [path, text] of await generated()) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const drifted = [...fingerprints()].filter(([path, hash]) => before.get(path) !== hash).map(([path]) => path);
  for (const path of drifted) process.stderr.write(`${path} changed\n`);
  if (process.argv.includes('--check') && drifted.length > 0) {
    process.stderr.write('generated files had drifted from the code: run `make generate` and commit the result\n');
    process.exitCode = 1;
  }
}
