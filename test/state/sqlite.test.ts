// The embedded state passes the contract, and keeps the promises that only a file and its lock can break.
import { readdirSync, readlinkSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../runner/clock.ts';
import { SqliteState, StateInUseError } from '../../runner/state/index.ts';
import { SqliteTarget } from '../../runner/targets/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { listed, replaced } from './build.ts';
import { stateContract } from './contract/index.ts';
import { KEYS, rowsIn } from './processes/generations.ts';
import { killWhileCommitting, start } from './processes/start.ts';

/** More with FAIRLEAD_TEST_KILLS. */
const KILL_ROUNDS = Number(process.env.FAIRLEAD_TEST_KILLS ?? 3);

/** What opening a store could leave behind: files that stay open, and a store that grows. */
function traces(file: string) {
  const open = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return []; // the one that listed them
    }
  });
  return { files: open.filter((path) => path.startsWith(file)).length, bytes: statSync(file).size };
}

const newFile = (): string => join(temporaryFolder(), 'state.db');

stateContract('SQLite', async () => {
  const clock = new VirtualClock();
  const file = newFile();
  return {
    store: () => new SqliteState({ file, clock }),
    passMs: async (ms) => clock.advance(ms),
  };
});

describe('one writer for each file', () => {
  const state = (file: string, readOnly = false) => new SqliteState({ file, clock: systemClock, readOnly });

  test('F21: a second process is refused and told who holds the state, and gets it the moment the holder was killed', async () => {
    const file = newFile();
    const holder = start('hold.ts', file);
    expect(await holder.line()).toBe('holding');
    const refused = await state(file)
      .open('next')
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StateInUseError);
    expect((refused as Error).message).toContain(`process ${holder.pid}`);
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

  test('F21: commands that only read work while the state is held, see what is committed, and cannot write', async () => {
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

  test('what is no state, or cannot be one, is refused by its name with what to do', async () => {
    const folder = temporaryFolder();
    const refusal = (name: string, readOnly = false) =>
      state(join(folder, name), readOnly)
        .open('next')
        .then(
          () => 'opened',
          (error: Error) => error.message,
        );
    writeFileSync(join(folder, 'text.db'), 'this is no database, and long enough to be read as one'.repeat(99));
    expect(await refusal('text.db')).toMatch(/text\.db is not a SQLite file: name another/);
    expect(await refusal('text.db', true)).toMatch(/text\.db is not a SQLite file/);
    expect(await refusal('missing.db', true)).toMatch(/there is no file .*missing\.db: nothing was indexed/);
    expect(await refusal('no-folder/state.db')).toMatch(/no-folder.state\.db.* cannot be opened.*folder/);
    const other = new DatabaseSync(join(folder, 'other.db'));
    other.exec('CREATE TABLE work(mine); CREATE TABLE notes(mine)');
    other.close();
    expect(await refusal('other.db')).toMatch(/other\.db holds tables that are not Fairlead's \(work\)/);
    expect(await refusal('other.db', true)).toMatch(/holds no state/);
  });

  test('a state that is damaged says so and what to do, and one that breaks while it is open still lets go of its file', async () => {
    const file = newFile();
    const broken = state(file);
    await broken.open('next');
    const other = new DatabaseSync(file);
    other.exec('DROP TABLE fairlead_state');
    other.close();
    await broken.close();
    truncateSync(file, 10_000);
    await expect(state(file).open('next')).rejects.toThrow(/state\.db cannot be opened.*it is damaged: .* delete it/);
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

  test('F20: a thousand opens and closes beside readers that never close leave no file open and nothing behind in the store', async () => {
    const file = newFile();
    const openAndClose = async (): Promise<number> => {
      const store = state(file);
      const epoch = await store.open('next');
      await store.close();
      return epoch;
    };
    await openAndClose();
    const readers = Array.from({ length: 10 }, () => state(file, true));
    for (const reader of readers) await reader.open('next');
    await openAndClose();
    const before = traces(file);
    for (let index = 0; index < 1_000; index++) await openAndClose();
    expect(traces(file), 'so ten thousand do no more than a thousand').toEqual(before);
    expect(await openAndClose()).toBe(1_003);
    for (const reader of readers) expect((await reader.sizes()).items).toBe(0);
  });
});

test('a process that is killed in the middle of commits leaves record and rows of one generation, whenever it dies (F16, F17)', async () => {
  await killWhileCommitting(newFile(), KILL_ROUNDS);
});

test('a reader that polls during hundreds of updates sees all old or all new rows, never a mix (F16)', async () => {
  const file = newFile();
  const writer = start('commit.ts', file);
  await writer.line();
  const reader = new SqliteTarget({ name: 'vectors', table: 'chunks', pipeline: 'search/code', file, readOnly: true });
  await reader.prepare();
  const seen = new Set<string>();
  for (let poll = 0; poll < 100; poll++) {
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

// Some seconds of work, and more on a machine that has other work too.
test('F14: a memo of a million entries answers as one of ten does, and lets go of what is old', {
  timeout: 240_000,
}, async () => {
  const clock = new VirtualClock();
  const store = new SqliteState({ file: newFile(), clock });
  await store.open('next');
  const key = (at: number): string => at.toString(16).padStart(32, '0');
  for (let from = 0; from < 1_000_000; from += 10_000)
    await store.memo.put(
      Array.from({ length: 10_000 }, (_, at) => ({ key: key(from + at), value: new Uint8Array([at % 256]) })),
    );
  expect((await store.sizes()).memoEntries).toBe(1_000_000);
  expect(await store.memo.get([key(0), key(999_999), key(1_000_000)])).toEqual([
    new Uint8Array([0]),
    new Uint8Array([9_999 % 256]),
    undefined,
  ]);
  clock.advance(10_000);
  expect(await store.memo.collect(5_000)).toBe(1_000_000);
  await store.close();
});
