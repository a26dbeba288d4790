// N1 to N3: a shared state that no operator leads is worked on by one process at a time. Stores of one test process stand for those of several
// machines: who holds the state is written into its table, where a test makes it another machine, or a time that has passed.
import { hostname } from 'node:os';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Holder, PostgresState, StateInUseError } from '../../runner/state/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { replaced } from './build.ts';

const postgres = await testPostgres('who works on a shared state');

describe.skipIf(postgres === undefined)('a shared state without an operator', () => {
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

  const refusalOf = async (state: PostgresState): Promise<StateInUseError> => {
    const error = await state.open('next').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StateInUseError);
    return error as StateInUseError;
  };

  const setHolder = (values: string): Promise<unknown> =>
    client.query(
      `UPDATE fairlead.holders SET ${values} WHERE number = (SELECT number FROM fairlead.states WHERE pipeline = $1)`,
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

  test('N3: an operator takes the state at once, and who worked without one is told', async () => {
    const told = Promise.withResolvers<Holder | undefined>();
    await makeStore(told.resolve).open('next');
    const operator = new PostgresState({ url, schema: 'fairlead', pipeline });
    expect(await operator.open(7)).toBe(7);
    clock.advance(5_000);
    expect(await told.promise).toBeUndefined();
    await operator.close();
  });
});
