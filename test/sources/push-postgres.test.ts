// Pushed items that several runners share, on a real Postgres; P1 to P3 are the invariants at the head of
// runner/sources/push/postgres-store.ts.
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  Database,
  forgetPushed,
  openSource,
  PostgresPushStore,
  type PushSource,
  signatureOf,
} from '../../runner/sources/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { keysOf, sourceContract, textOf } from './contract.ts';
import { sourceOptions, TempFolder } from './folder.ts';
import { Watching } from './watching.ts';

const SECRET = 'the key of the signatures';
const SCHEMA = 'fairlead';
const PIPELINE = 'search/index';
const postgres = await testPostgres('pushed items on Postgres');
const url = postgres?.url ?? '';
const folder = new TempFolder();
afterAll(() => folder.remove());

const sql = async (text: string): Promise<pg.QueryResult> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
};

describe.skipIf(postgres === undefined)('pushed items on Postgres', () => {
  const clock = new VirtualClock(Date.now());
  const opened: PushSource[] = [];

  beforeEach(() => sql(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; CREATE SCHEMA ${SCHEMA}`));
  afterEach(async () => {
    for (const source of opened.splice(0)) await source.close();
  });

  /** As another runner has it: the same items, its own connections. */
  const runner = (name = 'docs', pipeline = PIPELINE): PushSource => {
    const database = new Database(async () => url);
    const pushStore = new PostgresPushStore({ database, schema: SCHEMA, pipeline, source: name });
    const options = sourceOptions(folder, { clock, secret: async () => SECRET, pushStore });
    const source = openSource({ push: { secretFrom: { env: 'KEY' } } }, options) as PushSource;
    opened.push(source);
    return source;
  };
  const send = async (source: PushSource, items: readonly object[], atMs = clock.nowMs()) => {
    const body = Buffer.from(JSON.stringify({ items }));
    const seconds = Math.floor(atMs / 1_000);
    return source.accept({ time: String(seconds), signature: signatureOf(SECRET, seconds, body), body });
  };

  sourceContract('push on Postgres', async () => {
    const source = runner();
    const texts = { a: 'text a', 'b/c': 'text b', 'ü\n': 'tëxt', empty: '' };
    const items = Object.entries(texts).map(([key, text]) => ({ key, text }));
    await send(source, [...items, { key: 'gone', text: 'x' }]);
    await send(source, [{ key: 'gone', removed: true }]);
    return {
      source,
      items: new Map(Object.entries(texts)),
      strangers: ['gone', 'b'],
      close: async () => {},
    };
  });

  it('P2: what one runner takes the watcher of another hears, and every runner reads', async () => {
    const [door, watcher] = [runner(), runner()];
    const watching = await Watching.start(watcher);
    await send(door, [
      { key: 'a', text: 'one' },
      { key: 'b', base64: '/wA=' },
    ]);
    await watching.until({ a: 'changed', b: 'changed' });
    expect(await textOf(watcher, 'a')).toBe('one');
    await send(watcher, [{ key: 'a', removed: true }]);
    await watching.until({ a: 'removed' });
    expect(await keysOf(door)).toEqual(['b']);
    await watching.stop();
  });

  it('P2: sources and Pipelines of one schema hear nothing of each other', async () => {
    const [other, elsewhere, own] = [runner('tickets'), runner('docs', 'search/another'), runner()];
    const watching = await Watching.start(own);
    await send(other, [{ key: 'ticket', text: 'x' }]);
    await send(elsewhere, [{ key: 'stranger', text: 'x' }]);
    await send(own, [{ key: 'own', text: 'x' }]);
    expect([...(await watching.until({ own: 'changed' })).keys()]).toEqual(['own']);
    expect(await keysOf(own)).toEqual(['own']);
    await watching.stop();
  });

  it('P2: a watch whose connection breaks ends, so that the next one begins with a listing', async () => {
    const watching = await Watching.start(runner());
    await sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
    );
    await expect(watching.next()).rejects.toThrow('has ended');
  });

  it('P1: a message that is played back at another runner does not overwrite what came after it', async () => {
    const [door, another] = [runner(), runner()];
    const atMs = clock.nowMs();
    await send(door, [{ key: 'a', text: 'old' }], atMs);
    clock.advance(10_000);
    await send(door, [{ key: 'a', text: 'new' }]);
    expect(await send(another, [{ key: 'a', text: 'old' }], atMs)).toMatchObject({
      status: 202,
      message: 'this message was taken before',
    });
    expect(await textOf(door, 'a')).toBe('new');
  });

  it('P1: of two items with one key in a message the later one counts', async () => {
    const source = runner();
    await send(source, [
      { key: 'a', text: 'one' },
      { key: 'b', text: 'x' },
      { key: 'a', text: 'two' },
      { key: 'b', removed: true },
    ]);
    expect([await keysOf(source), await textOf(source, 'a')]).toEqual([['a'], 'two']);
  });

  it('P3: runners that take their first messages at once make the tables once', async () => {
    const runners = Array.from({ length: 4 }, () => runner());
    const replies = await Promise.all(runners.map((source, n) => send(source, [{ key: `k${n}`, text: 'x' }])));
    expect(replies.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(await keysOf(runners[0]!)).toEqual(['k0', 'k1', 'k2', 'k3']);
  });

  it('what was pushed to a source that is dropped goes; that of others stays', async () => {
    const [docs, tickets] = [runner(), runner('tickets')];
    await send(docs, [{ key: 'a', text: 'x' }]);
    await send(tickets, [{ key: 'b', text: 'x' }]);
    const database = new Database(async () => url);
    await forgetPushed(database, { schema: SCHEMA, pipeline: PIPELINE, source: 'docs' });
    expect([await keysOf(docs), await keysOf(tickets)]).toEqual([[], ['b']]);
    await forgetPushed(database, { schema: SCHEMA, pipeline: PIPELINE, source: undefined });
    expect(await keysOf(tickets)).toEqual([]);
    await database.close();
  });
});
