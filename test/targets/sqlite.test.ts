// The embedded target in its own file and in the state's passes the contract, and keeps what only it promises.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, test } from 'vitest';
import type { Target } from '../../runner/execute/index.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { SqliteTarget } from '../../runner/targets/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { DIMENSIONS, hexId, row, written } from './build.ts';
import { remembered, type TargetPlace, type TargetSettings, targetContract } from './contract.ts';

const newFile = (): string => join(temporaryFolder(), 'index.db');
const TABLE = 'code_chunks';

function options(settings: TargetSettings = {}) {
  return { name: 'vectors', table: TABLE, pipeline: 'search/code-index', stateId: 'the state', ...settings };
}

function textsOf(file: string): ReadonlyMap<string, string> {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(`SELECT id, text FROM ${TABLE}`).all();
  database.close();
  return new Map(rows.map(({ id, text }) => [String(id), String(text)]));
}

targetContract('SQLite in its own file', { search: true, vectors: true, shared: false }, async () => {
  const file = newFile();
  return {
    target: async (settings) => new SqliteTarget({ ...options(settings), file }),
    apply: (target, changes) => target.apply(changes),
    texts: async () => textsOf(file),
  };
});

/** Each target of this place comes with a state that opens the file for it; closing the target closes the state. */
function sharedPlace(file: string): TargetPlace {
  let state: SqliteState | undefined;
  let run = 0;
  return {
    async target(settings) {
      await state?.close();
      const target = new SqliteTarget(options(settings));
      state = new SqliteState({ file, clock: new VirtualClock(), shared: [target] });
      await state.open('next');
      const opened = state;
      const close = target.close.bind(target);
      target.close = async () => {
        await opened.close();
        await close();
      };
      return target;
    },
    async apply(_target, changes) {
      const epoch = 1_000_000; // Later than any that `open` claimed.
      const results = await state!.commit(
        changes.map((change) => remembered(change, { epoch, run: ++run, attempt: 1 })),
      );
      expect(results.every(({ kind }) => kind === 'committed')).toBe(true);
    },
    texts: async () => textsOf(file),
  };
}

targetContract("SQLite in the state's file", { search: true, vectors: true, shared: true }, async () =>
  sharedPlace(newFile()),
);

describe('the embedded target', () => {
  const opened: Target[] = [];
  afterEach(async () => {
    for (const target of opened.splice(0)) await target.close();
  });

  async function open(file: string, over: Partial<ConstructorParameters<typeof SqliteTarget>[0]> = {}) {
    const vector = { dimensions: DIMENSIONS, metric: 'cosine' as const };
    const target = new SqliteTarget({ ...options({ vector }), file, ...over });
    opened.push(target);
    await target.prepare();
    return target;
  }

  test('refuses a table that Fairlead did not make, by its name, and leaves it alone', async () => {
    const file = newFile();
    const database = new DatabaseSync(file);
    database.exec(`CREATE TABLE ${TABLE}(mine); INSERT INTO ${TABLE} VALUES (1)`);
    await expect(open(file)).rejects.toThrow(/code_chunks.*not made by Fairlead.*another table/s);
    expect(database.prepare(`SELECT count(*) AS n FROM ${TABLE}`).get()).toEqual({ n: 1 });
    database.close();
  });

  test.for(['_rows', '_owners', '_vectors', '_words'])(
    'a table %s that somebody dropped is made anew under another identity, so that every item is written again',
    async (part) => {
      const file = newFile();
      const { identity } = await open(file);
      const database = new DatabaseSync(file);
      database.exec(`DROP TABLE ${TABLE}${part}`);
      database.close();
      await expect(open(file, { readOnly: true })).rejects.toThrow(
        /target vectors: somebody dropped tables of .*code_chunks/,
      );
      expect((await open(file)).identity).not.toBe(identity);
    },
  );

  test('a reader that only looks sees committed rows while the writer is at work, and cannot write', async () => {
    const file = newFile();
    const writer = await open(file);
    await writer.apply([written(row(1, 'a', 'hello world'))]);
    const reader = await open(file, { readOnly: true });
    expect((await reader.search!({ text: 'hello', limit: 5 })).map(({ key }) => key)).toEqual(['a']);
    await writer.apply([written(row(2, 'b', 'hello again'))]);
    expect((await reader.search!({ text: 'again', limit: 5 })).map(({ key }) => key)).toEqual(['b']);
    await expect(reader.apply([written(row(3, 'c', 'no'))])).rejects.toThrow(/readonly|read-only/i);
  });

  test('a reader before the first index is told that there is nothing yet', async () => {
    const file = newFile();
    new DatabaseSync(file).close();
    await expect(open(file, { readOnly: true })).rejects.toThrow(/nothing was indexed/);
  });

  test('a reader under other dimensions is told that the rows would be made anew, and they stay', async () => {
    const file = newFile();
    const writer = await open(file);
    await writer.apply([written(row(1, 'a', 'hello world'))]);
    const vector = { dimensions: 7, metric: 'cosine' } as const;
    const reader = new SqliteTarget({ ...options({ vector }), file, readOnly: true });
    expect(await reader.prepare()).toBe('rebuilt');
    expect((await writer.scan('', 10)).length).toBe(1);
    await reader.close();
  });

  test('F42: after thousands of one-item updates the file is near that of a fresh index, and a search finds the same', async () => {
    const pages = async (updates: number): Promise<{ pages: number; found: readonly string[] }> => {
      const file = newFile();
      const target = await open(file);
      for (let at = 0; at < updates; at += 1) {
        const [key, id] = [`item ${at % 100}`, 1_000 + at];
        const before = at < 100 ? [] : [hexId(id - 100)];
        await target.apply([{ ...written(row(id, key, `words of ${key}`)), deletes: before }]);
      }
      const found = (await target.search!({ text: 'words', limit: 1_000 })).map(({ key }) => key).sort();
      await target.close();
      const database = new DatabaseSync(file);
      const [count] = Object.values(database.prepare('PRAGMA page_count').get() ?? {});
      database.close();
      return { pages: Number(count), found };
    };
    const [fresh, worn] = [await pages(100), await pages(3_000)];
    expect(worn.found).toEqual(fresh.found);
    expect(worn.pages).toBeLessThanOrEqual(fresh.pages * 2);
  });

  test('full text search can be turned on later, without writing rows again, and off', async () => {
    const file = newFile();
    const without = await open(file, { fullText: false });
    await without.apply([written(row(1, 'a', 'hello world'))]);
    expect(await without.search!({ text: 'hello', limit: 5 })).toEqual([]);
    await without.close();
    const withIt = await open(file);
    expect((await withIt.search!({ text: 'hello', limit: 5 })).length).toBe(1);
    await withIt.close();
    const { identity } = await open(file, { fullText: false });
    expect(identity).toContain(TABLE);
  });

  test('two targets in one file do not touch each other', async () => {
    const file = newFile();
    const one = await open(file);
    const two = await open(file, { name: 'other', table: 'other_chunks' });
    await one.apply([written(row(1, 'a', 'one'))]);
    await two.apply([written(row(1, 'a', 'two'))]);
    await one.drop();
    expect((await two.scan('', 10)).length).toBe(1);
  });
});
