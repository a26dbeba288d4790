// The target in a Postgres of its own and in the state's passes the contract on a real server with pgvector, and keeps what only it promises.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Target } from '../../runner/execute/index.ts';
import { PostgresState } from '../../runner/state/index.ts';
import { PostgresTarget } from '../../runner/targets/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { along, DIMENSIONS, row, written } from './build.ts';
import { remembered, type TargetPlace, type TargetSettings, targetContract } from './contract.ts';

const postgres = await testPostgres('the Postgres target');

describe.skipIf(postgres === undefined)('on a real Postgres', () => {
  const url = postgres?.url ?? '';
  const client = new pg.Client({ connectionString: url });
  beforeAll(() => client.connect());
  afterAll(() => client.end());

  let tables = 0;
  const newTable = (): string => `chunks_${++tables}`;

  function options(table: string, settings: TargetSettings = {}) {
    return {
      name: 'vectors',
      schema: 'search',
      table,
      pipeline: 'search/code-index',
      stateId: 'the state',
      ...settings,
    };
  }

  async function textsOf(table: string): Promise<ReadonlyMap<string, string>> {
    const { rows } = await client.query(`SELECT id, text FROM search.${table}`);
    return new Map(rows.map(({ id, text }) => [id.replaceAll('-', ''), text]));
  }

  targetContract('Postgres by itself', { search: true, vectors: true, shared: false }, async () => {
    const table = newTable();
    return {
      target: async (settings) => new PostgresTarget({ ...options(table, settings), url }),
      apply: (target, changes) => target.apply(changes),
      texts: () => textsOf(table),
    };
  });

  function sharedPlace(table: string): TargetPlace {
    let state: PostgresState | undefined;
    let run = 0;
    return {
      async target(settings) {
        const target = new PostgresTarget(options(table, settings));
        const opened = new PostgresState({ url, schema: 'fairlead', pipeline: table, shared: [target] });
        await opened.open('next');
        state = opened;
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
      texts: () => textsOf(table),
    };
  }

  targetContract("Postgres in the state's database", { search: true, vectors: true, shared: true }, async () =>
    sharedPlace(newTable()),
  );

  describe('the Postgres target', () => {
    const opened: Target[] = [];
    afterEach(async () => {
      for (const target of opened.splice(0)) await target.close();
    });
    const vector = { dimensions: DIMENSIONS, metric: 'cosine' as const };

    async function open(table: string, over: Partial<ConstructorParameters<typeof PostgresTarget>[0]> = {}) {
      const target = new PostgresTarget({ ...options(table, { vector }), url, ...over });
      opened.push(target);
      await target.prepare();
      return target;
    }

    test('refuses a table that Fairlead did not make, by its name, and leaves it alone', async () => {
      await client.query(
        'CREATE SCHEMA IF NOT EXISTS search; CREATE TABLE search.mine(x int); INSERT INTO search.mine VALUES (1)',
      );
      await expect(open('mine')).rejects.toThrow(/search\.mine.*not made by Fairlead.*another table/s);
      expect((await client.query('SELECT count(*)::int AS n FROM search.mine')).rows).toEqual([{ n: 1 }]);
    });

    test('runners that start together make the table once', async () => {
      const table = newTable();
      const targets = await Promise.all(Array.from({ length: 4 }, () => open(table)));
      expect(new Set(targets.map(({ identity }) => identity)).size).toBe(1);
    });

    test('a table that somebody dropped is made anew under another identity, so that every item is written again', async () => {
      const table = newTable();
      const { identity } = await open(table);
      await client.query(`DROP TABLE search.${table}`);
      expect((await open(table)).identity).not.toBe(identity);
    });

    test('people can query the table with SQL of their own', async () => {
      const table = newTable();
      const target = await open(table);
      await target.apply([
        written(row(1, 'a', 'near', { vector: along(0) }), row(2, 'a', 'far', { vector: along(1) })),
      ]);
      const { rows } = await client.query(
        `SELECT source, key, text, start_line FROM search.${table} ORDER BY embedding <=> $1 LIMIT 1`,
        [`[${along(0).join(',')}]`],
      );
      expect(rows).toEqual([{ source: 'docs', key: 'a', text: 'near', start_line: 1 }]);
    });

    test('words are found in paths, host names and calls, and by their stem where the language has one', async () => {
      const target = await open(newTable(), { language: 'english' });
      await target.apply([written(row(1, 'src/db/pool.ts', 'this.pool.query(sql) // watches folders'))]);
      const keys = async (text: string) => (await target.search({ text, limit: 5 })).map(({ key }) => key);
      for (const text of ['query', 'pool', 'db', 'watching', 'folder'])
        expect(await keys(text)).toEqual(['src/db/pool.ts']);
    });

    test('full text search can be turned on later, in another language too, without writing rows again', async () => {
      const table = newTable();
      await (await open(table, { fullText: false })).apply([written(row(1, 'a', 'running'))]);
      expect((await (await open(table)).search({ text: 'run', limit: 5 })).length).toBe(0);
      expect((await (await open(table, { language: 'english' })).search({ text: 'run', limit: 5 })).length).toBe(1);
    });

    test('a reader that polls during updates sees all old or all new rows, never a mix (F16)', async () => {
      const table = newTable();
      const [writer, reader] = [await open(table), await open(table, { readOnly: true })];
      const rowsOf = (n: number) =>
        Array.from({ length: 1 + (n % 3) }, (_, index) => row(n * 10 + index, 'a', `generation ${n}`));
      await writer.apply([written(...rowsOf(1))]);
      let last = 1;
      const writing = (async () => {
        for (last = 2; last <= 60; last++)
          await writer.apply([{ owner: 'docs/a', upserts: rowsOf(last), touches: [], deletes: [], deleteAll: true }]);
      })();
      const seen = new Set<string>();
      while (last <= 60) {
        const hits = await reader.search({ text: 'generation', limit: 100 });
        const texts = new Set(hits.map(({ element }) => element.text ?? ''));
        expect([...texts]).toHaveLength(1);
        const [text] = [...texts] as [string];
        seen.add(text);
        expect(hits.length).toBe(1 + (Number(text.split(' ').at(-1)) % 3));
      }
      await writing;
      expect(seen.size).toBeGreaterThan(1);
    });

    test('a reader before the first index is told that there is nothing yet', async () => {
      await expect(open(newTable(), { readOnly: true })).rejects.toThrow(/nothing was indexed/);
    });

    test('a server without pgvector is refused with what to do, and serves targets without vectors', async () => {
      await client.query('CREATE ROLE plain LOGIN');
      await client.query(`CREATE DATABASE ${PLAIN} OWNER plain`);
      const plain = new URL(url);
      plain.pathname = `/${PLAIN}`;
      plain.username = 'plain';
      await expect(open('chunks', { url: plain.toString() })).rejects.toThrow(
        /administrator .*CREATE EXTENSION vector/,
      );
      const { vector: _, ...withoutVector } = options('chunks', { vector });
      const target = new PostgresTarget({ ...withoutVector, url: plain.toString() });
      opened.push(target);
      expect(await target.prepare()).toBe('ready');
    });

    const PLAIN = `fairlead_plain_${process.pid}`;
    afterAll(async () => {
      await client.query(`DROP DATABASE IF EXISTS ${PLAIN} WITH (FORCE)`);
      await client.query('DROP ROLE IF EXISTS plain');
    });
  });
});
