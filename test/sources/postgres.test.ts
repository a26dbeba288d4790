// The source `postgres` on a real server: the contract, keys of all kinds, LISTEN, polling of a watermark, lost connections.
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Source } from '../../runner/execute/index.ts';
import { openSource, type PostgresSpec, type SourceOptions } from '../../runner/sources/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { keysOf, listAll, live, sourceContract, textOf } from './contract.ts';
import { sourceOptions, TempFolder } from './folder.ts';
import { Watching } from './watching.ts';

const postgres = await testPostgres('the source postgres');
const url = postgres?.url ?? '';
const folder = new TempFolder();
afterAll(() => folder.remove());

const sql = async (text: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
};

const opened: Source[] = [];
const open = (spec: Partial<PostgresSpec>, options: Partial<SourceOptions> = {}): Source => {
  const all = { urlFrom: { env: 'URL' }, table: 'docs', key: ['id'], content: 'body', ...spec };
  const source = openSource({ postgres: all }, sourceOptions(folder, { secret: async () => url, ...options }));
  opened.push(source);
  return source;
};

describe.skipIf(postgres === undefined)('postgres', () => {
  beforeEach(async () => {
    await sql(
      `DROP TABLE IF EXISTS docs CASCADE; CREATE TABLE docs (id text PRIMARY KEY, body text, title text, changed timestamptz DEFAULT now())`,
    );
  });
  afterEach(async () => {
    for (const source of opened.splice(0)) await source.close();
  });

  const world = (spec: Partial<PostgresSpec>) => async () => {
    await sql(
      `INSERT INTO docs (id, body) VALUES ('a', 'text a'), ('b/c', 'text b'), ('ü', 'tëxt'), ('100%2F', 'signs'), ('line' || chr(10) || 'two', 'newline'), ('none', NULL), ('', 'empty key')`,
    );
    const source = open(spec);
    return {
      source,
      items: new Map([
        ['a', 'text a'],
        ['b/c', 'text b'],
        ['ü', 'tëxt'],
        ['100%2F', 'signs'],
        ['line\ntwo', 'newline'],
      ]),
      strangers: ['none', 'A', "a' OR '1'='1", 'x'.repeat(10_000)],
      close: async () => await source.close(),
    };
  };
  sourceContract('postgres by hash', world({}));
  sourceContract('postgres by watermark', world({ watermark: 'changed' }));

  it('12,345 rows come in batches of at most 1,000, of one moment of the table', async () => {
    await sql(`INSERT INTO docs (id, body) SELECT 'k' || n, 'b' FROM generate_series(1, 12345) n`);
    const keys = new Set<string>();
    let isFirst = true;
    for await (const batch of open({}).list({ signal: live() })) {
      expect(batch.length).toBeLessThanOrEqual(1_000);
      for (const { key } of batch) keys.add(key);
      if (isFirst) await sql(`UPDATE docs SET id = 'a' || id`);
      isFirst = false;
    }
    expect(keys.size).toBe(12_345);
    expect([...keys].every((key) => key.startsWith('k'))).toBe(true);
  });

  it('F38: a row that was deleted is missing from the next listing, whose cycle removes its item', async () => {
    await sql("INSERT INTO docs (id, body) VALUES ('a', 'one'), ('b', 'two')");
    const source = open({});
    expect(await keysOf(source)).toEqual(['a', 'b']);
    await sql("DELETE FROM docs WHERE id = 'a'");
    expect(await keysOf(source)).toEqual(['b']);
    expect(await source.stat('a', live())).toBeUndefined();
  });

  it('without a watermark the version follows what is read and nothing else', async () => {
    await sql(`INSERT INTO docs (id, body, title) VALUES ('a', 'one', 't')`);
    const version = async (spec: Partial<PostgresSpec>) => (await listAll(open(spec)))[0]?.version;
    const [plain, withTitle] = [await version({}), await version({ fields: ['title'] })];
    await sql(`UPDATE docs SET title = 't2', changed = now() + '1 day'`);
    expect(await version({})).toBe(plain);
    expect(await version({ fields: ['title'] })).not.toBe(withTitle);
    await sql(`UPDATE docs SET body = 'two'`);
    expect(await version({})).not.toBe(plain);
  });

  it('keys of several columns and other types round-trip, and another spelling of a key is no key', async () => {
    await sql(`DROP TABLE IF EXISTS t; CREATE TABLE t (n bigint, s text, u uuid, body bytea, PRIMARY KEY (n, s, u));
      INSERT INTO t VALUES (9007199254740993, 'a/b%c', '6b1f2a1e-0000-4000-8000-000000000000', '\\xff00'), (7, '', '6b1f2a1e-0000-4000-8000-000000000001', '')`);
    const source = open({ table: 't', key: ['n', 's', 'u'] });
    const keys = [
      '9007199254740993/a%2Fb%25c/6b1f2a1e-0000-4000-8000-000000000000',
      '7//6b1f2a1e-0000-4000-8000-000000000001',
    ];
    expect((await keysOf(source)).toSorted()).toEqual(keys.toSorted());
    const content = await source.read(keys[0] ?? '', '', { signal: live(), maxBytes: 10 });
    expect([...(content?.bytes ?? [])]).toEqual([0xff, 0]);
    for (const key of [
      '007//6b1f2a1e-0000-4000-8000-000000000001',
      '7//6B1F2A1E-0000-4000-8000-000000000001',
      'x/y/z',
      '7/',
      '99999999999999999999//x',
    ])
      expect([key, await source.stat(key, live())]).toEqual([key, undefined]);
  });

  it('fields come with the content, numbers that JSON cannot hold as text', async () => {
    await sql(`DROP TABLE IF EXISTS f; CREATE TABLE f (id int PRIMARY KEY, body json, big bigint, price numeric, ok bool, tags text[], at timestamptz, none text);
      INSERT INTO f VALUES (1, '{"a":1}', 9007199254740993, 1.10, true, '{a,b}', '2026-01-02 03:04:05+00', NULL)`);
    const source = open({ table: 'f', fields: ['big', 'price', 'ok', 'tags', 'at', 'none'] });
    const content = await source.read('1', '', { signal: live(), maxBytes: 100 });
    expect(Buffer.from(content?.bytes ?? []).toString()).toBe('{"a":1}');
    expect(content?.fields).toEqual({
      big: '9007199254740993',
      price: '1.10',
      ok: true,
      tags: ['a', 'b'],
      at: '2026-01-02T03:04:05+00:00',
      none: null,
    });
  });

  it('a missing table, a missing column and a wrong password are told as what they are, without the address', async () => {
    await expect(listAll(open({ table: 'nowhere' }))).rejects.toMatchObject({
      class: 'invalid',
      message: expect.stringContaining('there is no table "public"."nowhere"'),
    });
    await expect(listAll(open({ fields: ['titel'] }))).rejects.toMatchObject({
      class: 'invalid',
      message: expect.stringContaining('has no column "titel"; it has id, body, title, changed'),
    });
    const closed = open({}, { secret: async () => 'postgres://user:hunter2@127.0.0.1:1/x' });
    const error = await listAll(closed).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ class: 'transient' });
    expect(String(error)).not.toContain('hunter2');
  });

  it('LISTEN tells the key of each notification; an empty one asks for a full cycle', async () => {
    const watching = await Watching.start(open({ channel: 'docs_changed' }));
    await sql(`NOTIFY docs_changed, 'a/b'; NOTIFY docs_changed, 'c'`);
    expect(await watching.until({ 'a/b': 'unknown', c: 'unknown' })).toEqual(
      new Map([
        ['a/b', 'unknown'],
        ['c', 'unknown'],
      ]),
    );
    await sql('NOTIFY docs_changed');
    await watching.until({ '': 'rescan' });
    await watching.stop();
  });

  it('a listening connection that is lost ends the watch with the reason, so that a cycle follows (F3)', async () => {
    const watching = await Watching.start(open({ channel: 'docs_changed' }));
    await sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`,
    );
    await expect(watching.next()).rejects.toMatchObject({
      class: 'transient',
      message: expect.stringContaining('the connection that listens to docs_changed was lost'),
    });
  });

  it('a watermark is polled: rows that are new or changed are told once, late transactions too', async () => {
    await sql(`INSERT INTO docs (id, body) VALUES ('old', 'x')`);
    const clock = new VirtualClock();
    const watching = await Watching.start(open({ watermark: 'changed' }, { clock }));
    const poll = async (until: Parameters<Watching['until']>[0]) => {
      const told = watching.until(until);
      while (clock.pending() === 0) await settle();
      clock.advance(5_000);
      return await told;
    };
    await sql(`INSERT INTO docs (id, body) VALUES ('a', 'x'), ('b', 'x')`);
    expect(await poll({ a: 'changed' })).toEqual(
      new Map([
        ['a', 'changed'],
        ['b', 'changed'],
      ]),
    );
    await sql(
      `UPDATE docs SET body = 'y', changed = clock_timestamp() WHERE id = 'a'; INSERT INTO docs VALUES ('late', 'x', '', now() - interval '5 seconds')`,
    );
    expect(await poll({ late: 'changed' })).toEqual(
      new Map([
        ['a', 'changed'],
        ['late', 'changed'],
      ]),
    );
    await watching.stop();
  });

  it('a source with neither channel nor watermark says that it cannot watch', () => {
    expect(open({}).watch).toBeUndefined();
    expect(open({ watermark: 'changed' }).watch).toBeDefined();
  });

  it('names are quoted: a column that is a word of SQL, and one in capitals', async () => {
    await sql(
      `DROP TABLE IF EXISTS "Order"; CREATE TABLE "Order" ("select" int PRIMARY KEY, "Body" text); INSERT INTO "Order" VALUES (1, 'x')`,
    );
    expect(await textOf(open({ table: 'Order', key: ['select'], content: 'Body' }), '1')).toBe('x');
  });

  it('a listing that is left early gives its connection back, again and again', async () => {
    await sql(`INSERT INTO docs (id, body) SELECT 'k' || n, 'b' FROM generate_series(1, 5000) n`);
    const source = open({});
    for (let at = 0; at < 12; at++) for await (const _ of source.list({ signal: live() })) break;
    expect((await listAll(source)).length).toBe(5_000);
  });
});
