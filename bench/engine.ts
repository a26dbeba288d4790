// The engine in one process, as `fairlead dev` runs it: tree, dispatcher, engine, embedded state and target. Each part runs in a process of its own,
// so that memory and warmth of one do not show in another.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench, Result } from './report.ts';

const PARTS = [
  ['components.ts', '20000'],
  ['components.ts', '200000'],
  ['files.ts'],
  ['slot.ts'],
  ['freshness.ts'],
] as const;

export const engine: Bench = async () => {
  const results: Result[] = [];
  for (const [program, ...args] of PARTS) results.push(...(await run(program, args)));
  return results;
};

/** Runs a part, which prints its results as JSON. */
async function run(program: string, args: readonly string[]): Promise<readonly Result[]> {
  const path = fileURLToPath(new URL(`./engine/${program}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path, ...args], { maxBuffer: 1 << 20 });
  return JSON.parse(stdout) as readonly Result[];
}
