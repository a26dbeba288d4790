// The shared state passes the contract on a real Postgres, and keeps the promises that several runners need.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { StateStore } from '../../runner/execute/index.ts';
import { PostgresState } from '../../runner/state/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { listed, replaced, token, work } from './build.ts';
import { stateContract } from './contract/index.ts';
import { killWhileCommitting } from './processes/start.ts';

/** More with FAIRLEAD_TEST_KILLS. */
const KILL_ROUNDS = Number(process.env.FAIRLEAD_TEST_KILLS ?? 3);

const postgres = await testPostgres('the shared state');

describe.skipIf(postgres === undefined)('on a real Postgres', () => {
  const url = postgres?.url ?? '';
  const client = new pg.Client({ connectionString: url });
  beforeAll(() => client.connect());
  afterAll(() => client.end());

  let pipelines = 0;
  const newPipeline = (): string => `search/pipeline-${++pipelines}`;
  const stateOf = (pipeline: string, over = {}) => new PostgresState({ url, schema: 'fairlead', pipeline, ...over });

  stateContract('Postgres', async () => {
    const pipeline = newPipeline();
    return {
      store: () => stateOf(pipeline),
      // The server's clock cannot be moved: what is old is moved back instead.
      passMs: async (ms) => {
        const { rows } = await client.query('SELECT number FROM fairlead.states WHERE pipeline = $1', [pipeline]);
        await client.query(`UPDATE fairlead.s${rows[0].number}_memo SET retired_at = retired_at - $1`, [ms]);
      },
    };
  });

  /** Several runners' stores on one state. */
  async function runners(count: number, pipeline = newPipeline()) {
    const stores = Array.from({ length: count }, () => stateOf(pipeline));
    await Promise.all(stores.map((store) => store.open(1)));
    const close = () => Promise.all(stores.map((store) => store.close()));
    return { stores, close, pipeline };
  }

  const kinds = (results: Awaited<ReturnType<StateStore['commit']>>) => results.map(({ kind }) => kind);

  test('runners that start together find one state', async () => {
    const { stores, close } = await runners(6);
    expect(new Set(stores.map((store) => store.stateId())).size).toBe(1);
    await close();
  });

  test('states of two Pipelines in one schema know nothing of each other', async () => {
    const [one, two] = [await runners(1), await runners(1)];
    await one.stores[0]!.commit([replaced('a')]);
    expect((await two.stores[0]!.compare('docs', listed('a'), 'spec-1'))[0]!.verdict).toBe('new');
    await one.stores[0]!.drop();
    expect((await two.stores[0]!.sizes()).components).toBe(0);
    await Promise.all([one.close(), two.close()]);
  });

  test('of runners that commit one component at once, exactly those win whose base is the record that they replace', async () => {
    const { stores, close } = await runners(4);
    await stores[0]!.commit([replaced('a'), replaced('b')]);
    for (let round = 2; round < 8; round++) {
      const [record] = await stores[0]!.components(['docs/a']);
      const base = record!.token;
      const results = await Promise.all(
        stores.map((store, index) => {
          const mine = { token: token(round * 10 + index), fingerprint: `runner ${index}` };
          const group = [replaced('a', { ...mine, base }), replaced(`own-${round}-${index}`, { token: mine.token })];
          return store.commit(index % 2 === 0 ? group : group.reverse());
        }),
      );
      const outcomes = results.map((result, index) => kinds(index % 2 === 0 ? result : [...result].reverse()));
      expect(outcomes.filter(([first]) => first === 'committed').length, 'one wins').toBe(1);
      expect(outcomes.map(([, own]) => own)).toEqual(['committed', 'committed', 'committed', 'committed']);
    }
    await close();
  });

  test('runners that write one new component at once end with one record', async () => {
    const { stores, close } = await runners(4);
    for (let round = 0; round < 5; round++) {
      const key = `new-${round}`;
      const results = await Promise.all(
        stores.map((store, index) => store.commit([replaced(key, { token: token(index + 1) })])),
      );
      expect(results.flatMap(kinds).filter((kind) => kind === 'committed').length).toBe(1);
      expect((await stores[0]!.extent('docs')).items).toBe(round + 1);
    }
    await close();
  });

  test('a leader that claims a newer epoch waits for commits under way, and nothing older is written afterwards', async () => {
    const { stores, close, pipeline } = await runners(2);
    const commits = Array.from({ length: 40 }, (_, index) => stores[index % 2]!.commit([replaced(`k${index}`)]));
    const leader = stateOf(pipeline);
    await leader.open(2);
    const { items } = await leader.extent('docs');
    const results = (await Promise.all(commits)).flatMap(kinds);
    expect(
      results.filter((kind) => kind === 'committed').length,
      'what was committed stood when the claim was through',
    ).toBe(items);
    expect((await stores[0]!.commit([replaced('late')]))[0]).toEqual({ kind: 'fenced', by: 'epoch' });
    await leader.close();
    await close();
  });

  test('F22: work that is offered by several runners at once is entered once', async () => {
    const { stores, close } = await runners(4);
    const keys = Array.from({ length: 50 }, (_, index) => `k${index}`);
    const entered = await Promise.all(
      stores.map((store, index) => store.enter((index % 2 === 0 ? keys : [...keys].reverse()).map((key) => work(key)))),
    );
    expect(entered.flat().filter(({ kind }) => kind === 'entered').length).toBe(50);
    expect(entered.flat().filter(({ kind }) => kind === 'known').length).toBe(150);
    expect(await stores[0]!.countWork({})).toBe(50);
    await close();
  });

  test('a process that is killed in the middle of commits leaves record and rows of one generation, whenever it dies (F16, F17)', async () => {
    await killWhileCommitting(url, KILL_ROUNDS);
  });

  test('a command that only looks is told that nothing was indexed, and makes nothing', async () => {
    const pipeline = newPipeline();
    await expect(stateOf(pipeline, { readOnly: true }).open('next')).rejects.toThrow(/no state .* nothing was indexed/);
    expect((await client.query('SELECT 1 FROM fairlead.states WHERE pipeline = $1', [pipeline])).rowCount).toBe(0);
  });

  test('a state of a newer Fairlead is refused with both versions', async () => {
    const { close, pipeline } = await runners(1);
    await close();
    await client.query('UPDATE fairlead.states SET version = 99 WHERE pipeline = $1', [pipeline]);
    await expect(stateOf(pipeline).open('next')).rejects.toThrow(/version 99.*version 1/s);
  });

  test('a server that cannot be reached is a failure of its place, without the password', async () => {
    const state = stateOf('x/y', { url: 'postgres://me:secret@127.0.0.1:1/db' });
    const error = (await state.open('next').catch((reason: unknown) => reason)) as Error & { class?: string };
    expect(error.message).toMatch(/127\.0\.0\.1:1\/db cannot be reached/);
    expect(error.message).not.toContain('secret');
    expect(error.class).toBe('transient');
  });

  test('a server that cuts connections in the middle of commits fails those commits as transient, and the store goes on (F34)', async () => {
    const { stores, close } = await runners(1);
    const [state] = stores as [PostgresState];
    const outcomes = new Set<string>();
    for (let round = 0; round < 20; round++) {
      const commits = Array.from({ length: 4 }, (_, index) =>
        state.commit([replaced(`r${round}-${index}`)]).then(
          () => 'committed',
          (error: { class?: string }) => error.class ?? String(error),
        ),
      );
      await client.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairlead' AND datname = current_database()",
      );
      for (const outcome of await Promise.all(commits)) outcomes.add(outcome);
    }
    expect([...outcomes].filter((outcome) => outcome !== 'committed' && outcome !== 'transient')).toEqual([]);
    expect(outcomes.has('transient'), 'some were cut').toBe(true);
    expect(kinds(await state.commit([replaced('after')]))).toEqual(['committed']);
    await close();
  });

  test('many opens and closes leave the server with no connection of ours (F20)', async () => {
    const pipeline = newPipeline();
    for (let index = 0; index < 20; index++) {
      const state = stateOf(pipeline);
      await state.open('next');
      await state.close();
    }
    // The server forgets a connection a moment after its client has closed it.
    await vi.waitFor(
      async () => {
        const { rows } = await client.query(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'fairlead' AND datname = current_database()",
        );
        expect(rows[0].n).toBe(0);
      },
      { timeout: 30_000 },
    );
  });
});
