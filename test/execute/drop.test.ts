// A Pipeline that is deleted with `deletionPolicy: Delete`, on a real Postgres that holds state and target.
import pg from 'pg';
import { afterEach, describe, expect, test } from 'vitest';
import { Dispatcher, type UpdateEnding } from '../../operator/dispatch/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { Engine } from '../../runner/execute/index.ts';
import { PostgresState } from '../../runner/state/index.ts';
import { PostgresTarget } from '../../runner/targets/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { LinesStep, ReadStep, TestSource } from './world.ts';

const postgres = await testPostgres('dropping a Pipeline');

describe.skipIf(postgres === undefined)('a Pipeline that is dropped', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  async function open() {
    const url = postgres?.url ?? '';
    const database = new pg.Client({ connectionString: url });
    await database.connect();
    const target = new PostgresTarget({ name: 'rows', schema: 'public', table: 'rows', pipeline: 'search/index' });
    const state = new PostgresState({ url, schema: 'fairlead', pipeline: 'search/index', shared: [target] });
    ends.push(
      () => state.close(),
      () => database.end(),
    );
    await state.open(1);
    await target.prepare();
    const source = new TestSource();
    const steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'lines', step: new LinesStep() },
      { verb: 'export' as const, target: 'rows' },
    ];
    const engine = new Engine({
      state,
      plan: { component: { steps }, targets: [target], maxContentBytes: 1_000_000 },
      sources: new Map([['docs', { source, deleteGuard: { maxPercent: 50, minItems: 20 } }]]),
      clock: systemClock,
    });
    const dispatcher = new Dispatcher({ clock: systemClock, slotsMax: 4, epoch: 1 });
    engine.connect(dispatcher.addRunner({ name: 'runner', runnerClass: 'cpu', slots: 4, runner: engine }).uplink);
    dispatcher.openSource({ name: 'docs' });
    const update = (start: { kind: 'cycle' | 'drop'; source?: string }) =>
      new Promise<UpdateEnding>((resolve) => {
        dispatcher.startUpdate({ ...start, trigger: 'test', observer: { ended: (_, ending) => resolve(ending) } });
      });
    const tables = async () =>
      (await database.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)).rows.map(
        ({ tablename }) => tablename,
      );
    return { database, source, update, tables };
  }

  test('takes its rows and then the tables that Fairlead made with it, and no other; twice is as once', async () => {
    const { database, source, update, tables } = await open();
    await database.query('CREATE TABLE of_others (id int)');
    const before = await tables();
    expect(before).toContain('rows');
    source.write('a', 'one\ntwo');
    expect(await update({ kind: 'cycle', source: 'docs' })).toMatchObject({ result: 'Succeeded' });
    expect((await database.query('SELECT count(*)::int AS n FROM rows')).rows[0]).toEqual({ n: 2 });

    expect(await update({ kind: 'drop' })).toMatchObject({ result: 'Succeeded', counts: { deleted: 1 } });
    expect(await tables()).toEqual(before.filter((table) => table !== 'rows'));
    expect((await database.query('SELECT name FROM public.fairlead_targets')).rows).toEqual([]);
    expect(await update({ kind: 'drop' })).toMatchObject({ result: 'Succeeded' });
  });

  test('a source alone takes its rows, and the table stays for the others', async () => {
    const { source, update, tables } = await open();
    source.write('a', 'one');
    await update({ kind: 'cycle', source: 'docs' });
    expect(await update({ kind: 'drop', source: 'docs' })).toMatchObject({ result: 'Succeeded' });
    expect(await tables()).toContain('rows');
  });
});
