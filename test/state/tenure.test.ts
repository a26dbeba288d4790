// N1, N2, P1 to P3: a shared state is worked on by one process without an operator at a time, or by the runners of operators. Stores of one test
// process stand for those of several machines: who works is written into a table, where a test makes it another machine, or a time that has passed.
import { hostname } from 'node:os';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Holder, PostgresState, StateInUseError } from '../../runner/state/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { replaced } from './build.ts';

const postgres = await testPostgres('who works on a shared state');

describe.skipIf(postgres === undefined)('who works on a shared state', () => {
  const url = postgres?.url ?? '';
  const client = new pg.Client({ connectionString: url });
  beforeAll(() => client.connect());
  afterAll(() => client.end());

  const clock = new VirtualClock();
  let pipeline = '';
  let states: PostgresState[] = [];
  beforeEach((context) => {
    pipeline = context.task.name;
    states = [];
    return async () => void (await Promise.all(states.map((state) => state.close())));
  });

  function makeStore(onLost: (holder: Holder | undefined) => void = () => {}): PostgresState {
    const state = new PostgresState({ url, schema: 'fairlead', pipeline, tenure: { clock, onLost } });
    states.push(state);
    return state;
  }

  const refusalOf = async (state: PostgresState, epoch: number | 'next' = 'next'): Promise<StateInUseError> => {
    const error = await state.open(epoch).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StateInUseError);
    return error as StateInUseError;
  };

  const setHolder = (values: string): Promise<unknown> =>
    client.query(
      `UPDATE fairlead.tenures SET ${values} WHERE number = (SELECT number FROM fairlead.states WHERE pipeline = $1)`,
      [pipeline],
    );

  test('N1, F21: a second process is told who has the state and until when, and has it once the first one ended', async () => {
    const first = makeStore();
    expect(await first.open('next')).toBe(1);
    const { message, lease } = await refusalOf(makeStore());
    expect(message).toContain(`process ${process.pid} on ${hostname()}`);
    expect(message).toContain(pipeline);
    expect(message).not.toContain(url);
    expect(lease?.endsInMs).toBeGreaterThan(0);
    expect((await first.commit([replaced('a', { token: { epoch: 1, run: 1, attempt: 1 } })]))[0]).toEqual({
      kind: 'committed',
    });
    await first.close();
    expect(await makeStore().open('next')).toBe(2);
  });

  test('N1: commands that look are let in', async () => {
    await makeStore().open('next');
    const reader = new PostgresState({ url, schema: 'fairlead', pipeline, readOnly: true });
    expect(await reader.open('next')).toBe(1);
    await reader.close();
    await refusalOf(makeStore());
  });

  test('N1: a process of this machine that is gone holds nothing; of one of another machine the lease must end', async () => {
    await makeStore().open('next');
    await setHolder("pid = 2147483647, host = 'another'");
    await refusalOf(makeStore());
    await setHolder(`host = '${hostname()}'`);
    expect(await makeStore().open('next')).toBe(2);
    await setHolder("host = 'another', renewed = renewed - interval '15 seconds'");
    expect(await makeStore().open('next')).toBe(3);
  });

  test('N2: one that renews its lease keeps it; one that did not is told who has it now, once, and is fenced', async () => {
    const lost: (Holder | undefined)[] = [];
    const told = Promise.withResolvers<void>();
    const first = makeStore((holder) => {
      lost.push(holder);
      told.resolve();
    });
    await first.open('next');
    const endsAtMs = (await refusalOf(makeStore())).lease?.endsAtMs ?? 0;
    clock.advance(5_000);
    // Its renewal is on its way, on a connection of its own.
    await expect.poll(async () => (await refusalOf(makeStore())).lease?.endsAtMs).toBeGreaterThan(endsAtMs);
    await setHolder("host = 'another', renewed = renewed - interval '1 minute'");
    await makeStore().open('next');
    clock.advance(60_000);
    await told.promise;
    expect(lost).toMatchObject([{ pid: process.pid, host: hostname() }]);
    expect((await first.commit([replaced('late')]))[0]).toEqual({ kind: 'fenced', by: 'epoch' });
  });

  test("N1: while an operator's runners work, others of them are let in, and a process without an operator is told what to do", async () => {
    const runner = makeStore();
    await runner.open(7);
    expect(await makeStore().open(7)).toBe(7);
    const { message, holder, lease } = await refusalOf(makeStore());
    expect(message).toContain(`an operator's runner, process ${process.pid} on ${hostname()}`);
    expect(message).toContain('spec.suspend');
    expect(holder).toMatchObject({ isRunner: true });
    expect(lease?.endsInMs).toBeGreaterThan(0);
    expect((await runner.commit([replaced('a', { token: { epoch: 7, run: 1, attempt: 1 } })]))[0]?.kind).toBe(
      'committed',
    );
  });

  test('N1, P1: a runner waits for a process without an operator; what it writes then is newer than what that one wrote', async () => {
    const alone = makeStore();
    await alone.open('next');
    expect((await refusalOf(makeStore(), 1)).message).toContain(`in use by process ${process.pid}`);
    await alone.commit([replaced('a', { token: { epoch: 1, run: 9, attempt: 1 } })]);
    await alone.close();
    const runner = makeStore();
    expect(await runner.open(1)).toBe(2);
    const [record] = await runner.components(['docs/a']);
    const again = replaced('a', { token: { epoch: 2, run: 1, attempt: 1 }, base: record!.token });
    expect(await runner.commit([again])).toEqual([{ kind: 'committed' }]);
  });

  test('P3: a leader who was replaced opens nothing while runners of the newer one work', async () => {
    const newer = makeStore();
    await newer.open(8);
    expect((await refusalOf(makeStore(), 7)).holder).toMatchObject({ isRunner: true });
    await newer.close();
    expect(await makeStore().open(7)).toBe(9);
    expect(await makeStore().open(8)).toBe(10);
  });

  test('N2: runners whose leases ended, and after whom another process was let in, are told', async () => {
    const told = Promise.withResolvers<Holder | undefined>();
    const runner = makeStore(told.resolve);
    await runner.open(7);
    await setHolder("renewed = renewed - interval '1 minute'");
    await makeStore().open('next');
    clock.advance(5_000);
    expect(await told.promise).toMatchObject({ pid: process.pid, isRunner: false });
    expect((await runner.commit([replaced('late', { token: { epoch: 7, run: 1, attempt: 1 } })]))[0]).toEqual({
      kind: 'fenced',
      by: 'epoch',
    });
  });
});
