// Starts a program of this folder as a process of its own; what it prints comes line by line. Each is killed at the latest when its test ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import { generation, KEYS, rowsIn } from './generations.ts';
import { openStores } from './stores.ts';

export function start(program: string, ...args: string[]) {
  const path = new URL(`./${program}`, import.meta.url).pathname;
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return { pid: child.pid, kill, line: async () => String((await lines.next()).value) };
}

/** Kills a committing process again and again, each time somewhere else; after each death record and rows are of one generation. */
export async function killWhileCommitting(place: string, rounds: number): Promise<void> {
  let reached = 0;
  for (let round = 0; round < rounds; round++) {
    const writer = start('commit.ts', place, String(reached + 1));
    for (let line = 0; line <= round; line++) reached = Number(await writer.line());
    await writer.kill();
    const found = await generationIn(place);
    expect(found, 'what was said to be committed is committed').toBeGreaterThanOrEqual(reached);
    reached = found;
  }
}

/** The one generation that state and target hold. */
async function generationIn(place: string): Promise<number> {
  const { state, target } = await openStores(place);
  const records = await state.components(KEYS.map((key) => `docs/${key}`));
  const hashes = new Set(records.map((record) => record?.contentHash));
  expect(hashes.size).toBe(1);
  const number = Number([...hashes][0]);
  const hits = (await target.search?.({ text: 'generation', limit: 100 })) ?? [];
  expect(new Set(hits.map(({ element }) => element.text))).toEqual(new Set([`text of generation ${number}`]));
  expect(hits.length).toBe(KEYS.length * rowsIn(number));
  const rows = generation(number, 1, records).flatMap(({ changes }) => changes.get('vectors')?.upserts ?? []);
  const scanned = await target.scan('', 1000);
  expect(scanned.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort());
  await state.close();
  return number;
}
