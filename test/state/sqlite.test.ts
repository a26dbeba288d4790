// The embedded state passes the contract, and keeps the promises that only a file and its lock can break.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../runner/clock.ts';
import { SqliteState, StateInUseError } from '../../runner/state/index.ts';
import { SqliteTarget } from '../../runner/targets/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { listed, replaced } from './build.ts';
import { stateContract } from './contract.ts';
import { KEYS, rowsIn } from './processes/generations.ts';

const newFile = (): string => join(temporaryFolder(), 'state.db');

stateContract('SQLite', async () => {
  const clock = new VirtualClock();
  const file = newFile();
  return {
    store: () => new SqliteState({ file, clock }),
    passMs: async (ms) => clock.advance(ms),
  };
});

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Starts a program of `processes`; what it prints comes line by line. */
function start(program: string, ...args: string[]) {
  const path = new URL(`./processes/${program}`, import.meta.url).pathname;
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return { child, kill, line: async () => String((await lines.next()).value) };
}

describe('one writer for each file', () => {
  const state = (file: string, readOnly = false) => new SqliteState({ file, clock: systemClock, readOnly });

  test('a second process is refused and told who holds the state, and gets it the moment the holder was killed', async () => {
    const file = newFile();
    const holder = start('hold.ts', file);
    expect(await holder.line()).toBe('holding');
    const refused = await state(file)
      .open('next')
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StateInUseError);
    expect((refused as Error).message).toContain(`process ${holder.child.pid}`);
    await holder.kill();
    const second = state(file);
    expect(await second.open('next')).toBe(2);
    await second.close();
  });

  test('a second store of the same process is refused too', async () => {
    const file = newFile();
    const first = state(file);
    await first.open('next');
    await expect(state(file).open('next')).rejects.toThrow(`process ${process.pid}`);
    await first.close();
  });

  test('commands that only read work while the state is held, see what is committed, and cannot write', async () => {
    const file = newFile();
    const writer = state(file);
    await writer.open('next');
    await writer.commit([replaced('a')]);
    const reader = state(file, true);
    expect(await reader.open('next')).toBe(1);
    expect((await reader.compare('docs', listed('a'), 'spec-1'))[0]?.verdict).toBe('unchanged');
    await writer.commit([replaced('b')]);
    expect((await reader.compare('docs', listed('b'), 'spec-1'))[0]?.verdict).toBe('unchanged');
    await expect(reader.setCursor('docs', 1)).rejects.toThrow(/readonly/);
    await reader.close();
    await writer.close();
  });

  test('a state of a newer Fairlead is refused with both versions', async () => {
    const file = newFile();
    const first = state(file);
    await first.open('next');
    await first.close();
    const database = new DatabaseSync(file);
    database.exec("UPDATE fairlead_state SET value = 99 WHERE key = 'version'");
    database.close();
    await expect(state(file).open('next')).rejects.toThrow(/version 99.*version 1/s);
  });

  test('hundreds of opens and closes, and readers that never close, leave the store usable (F20)', async () => {
    const file = newFile();
    for (let index = 0; index < 400; index++) {
      const store = state(file);
      await store.open('next');
      if (index % 10 === 0)
        await state(file, true)
          .open('next')
          .then(() => undefined);
      await store.close();
    }
    const last = state(file);
    expect(await last.open('next')).toBe(401);
    await last.close();
  });
});

test('a process that is killed in the middle of commits leaves record and rows of one generation, whenever it dies (F16, F17)', async () => {
  const file = newFile();
  let reached = 0;
  for (let round = 0; round < 8; round++) {
    const writer = start('commit.ts', file, String(reached + 1));
    for (let line = 0; line <= round; line++) reached = Number(await writer.line());
    await writer.kill();
    reached = Math.max(reached, await generationIn(file));
  }
  expect(reached).toBeGreaterThanOrEqual(8);
});

/** The one generation that state and target hold. */
async function generationIn(file: string): Promise<number> {
  const target = new SqliteTarget({ name: 'vectors', table: 'chunks', pipeline: 'search/code' });
  const state = new SqliteState({ file, clock: systemClock, shared: [target] });
  await state.open('next');
  await target.prepare();
  const records = await state.components(KEYS.map((key) => `docs/${key}`));
  const hashes = new Set(records.map((record) => record?.contentHash));
  expect(hashes.size).toBe(1);
  const number = Number([...hashes][0]);
  const hits = await target.search({ text: 'generation', limit: 100 });
  expect(new Set(hits.map(({ element }) => element.text))).toEqual(new Set([`text of generation ${number}`]));
  expect(hits.length).toBe(KEYS.length * rowsIn(number));
  await state.close();
  return number;
}

test('a reader that polls during hundreds of updates sees all old or all new rows, never a mix (F16)', async () => {
  const file = newFile();
  const writer = start('commit.ts', file);
  await writer.line();
  const reader = new SqliteTarget({ name: 'vectors', table: 'chunks', pipeline: 'search/code', file, readOnly: true });
  await reader.prepare();
  const seen = new Set<string>();
  for (let poll = 0; poll < 300; poll++) {
    const hits = await reader.search({ text: 'generation', limit: 100 });
    const texts = new Set(hits.map(({ element }) => element.text ?? ''));
    expect([...texts]).toHaveLength(1);
    const [text] = [...texts] as [string];
    seen.add(text);
    expect(hits.length).toBe(KEYS.length * rowsIn(Number(text.split(' ').at(-1))));
  }
  expect(seen.size).toBeGreaterThan(1);
  await writer.kill();
  await reader.close();
});
