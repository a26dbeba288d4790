// Failures: what is tried again, when, with and without a slot; what a failed item leaves; what cancelling leaves.
import { beforeEach, describe, expect, test } from 'vitest';
import { StepError } from '../../runner/sdk/index.ts';
import { settle } from '../support/virtual-clock.ts';
import { counted, ReadStep, WorkStep, World } from './world.ts';

const turns = async (count = 30): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await settle();
};

describe('a step that fails', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.open();
    world.source.write('good', 'fine');
    world.source.write('bad', 'broken');
    return () => world.state.close();
  });

  const failing = (make: (call: number) => Error | undefined): void => {
    let call = 0;
    world.work.onCall = (key) => {
      const error = key === 'bad' ? make(++call) : undefined;
      if (error !== undefined) throw error;
    };
  };

  test('E6: fails its item and no other; the item is tried again in the next cycle, at the same version', async () => {
    failing((call) => (call === 1 ? new StepError('invalid', 'line 3 is no JSON') : undefined));
    const first = await world.cycle();
    expect(counted(first)).toEqual({ added: 1, failed: 1 });
    expect(await world.state.item('docs', 'bad')).toMatchObject({
      status: 'failed',
      error: 'work: line 3 is no JSON',
      failures: 1,
    });
    expect((await world.state.updates(1))[0]?.result).toBe('CompletedWithErrors');
    expect(counted(await world.cycle())).toEqual({ added: 1, unchanged: 1 });
    expect(world.target.texts()).toEqual({ good: ['fine'], bad: ['broken'] });
    expect(await world.state.item('docs', 'bad')).toMatchObject({ status: 'ok', failures: 0 });
  });

  test('F16: an item that fails keeps its old rows', async () => {
    await world.cycle();
    world.source.write('bad', 'worse');
    failing(() => new StepError('invalid', 'no'));
    expect(counted(await world.cycle())).toEqual({ failed: 1, unchanged: 1 });
    expect(world.target.texts()).toEqual({ good: ['fine'], bad: ['broken'] });
  });

  test('an item that failed and went back to its old content is unchanged and no longer failed', async () => {
    await world.cycle();
    const before = world.source.items.get('bad')!;
    world.source.write('bad', 'worse');
    failing(() => new StepError('invalid', 'no'));
    await world.cycle();
    world.source.items.set('bad', before);
    expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
    expect(await world.state.item('docs', 'bad')).toMatchObject({ status: 'ok' });
  });

  test('a transient failure is tried again after a wait with jitter, in the run, which keeps its slot', async () => {
    world.random = () => 0.5;
    failing((call) => (call < 3 ? new StepError('transient', 'try later') : undefined));
    const ended = world.cycle();
    await world.clock.waiting(100);
    world.clock.advance(100);
    await world.clock.waiting(200);
    await turns();
    expect(world.desk.executing).toBe(1);
    world.clock.advance(200);
    expect(counted(await ended)).toEqual({ added: 2 });
    expect(world.desk.parked).toEqual([]);
  });

  test('an item fails for good after its attempts, with the last error', async () => {
    let calls = 0;
    failing((call) => {
      calls = call;
      return new StepError('transient', `try ${call}`);
    });
    const ended = world.cycle();
    for (let wait = 0; wait < 4; wait += 1) {
      await world.clock.waiting(0);
      world.clock.advance(0);
    }
    expect(counted(await ended)).toEqual({ added: 1, failed: 1 });
    expect(calls).toBe(5);
    expect((await world.state.item('docs', 'bad'))?.error).toBe('work: try 5');
  });

  test('invalid input is not tried again', async () => {
    failing(() => new StepError('invalid', 'no'));
    await world.cycle();
    expect(world.work.calls.filter((key) => key === 'bad').length).toBe(1);
  });

  test('A13: a wait of up to 5 s keeps the slot, a longer one parks the run and the next attempt counts on', async () => {
    failing((call) => (call === 1 ? new StepError('rate-limited', 'slow down', { retryAfterMs: 5_000 }) : undefined));
    const short = world.cycle();
    await world.clock.waiting(5_000);
    await turns();
    expect([world.desk.parked.length, world.desk.executing]).toEqual([0, 1]);
    world.clock.advance(5_000);
    expect(counted(await short)).toEqual({ added: 2 });

    world.source.write('bad', 'again');
    failing((call) => (call === 1 ? new StepError('transient', 'down', { retryAfterMs: 5_001 }) : undefined));
    const long = world.cycle();
    while (world.desk.parked.length === 0) await settle();
    expect(world.desk.parked[0]).toMatchObject({ path: 'docs/bad', afterMs: 5_001 });
    expect(world.desk.executing).toBe(0);
    world.desk.parked[0]!.resume();
    expect(counted(await long)).toEqual({ reprocessed: 1, unchanged: 1 });
  });

  test('attempts are counted over parks', async () => {
    failing((call) => new StepError('transient', `try ${call}`, { retryAfterMs: 60_000 }));
    const ended = world.cycle();
    for (let park = 0; park < 4; park += 1) {
      while (world.desk.parked.length === 0) await settle();
      world.desk.parked.pop()!.resume();
    }
    expect(counted(await ended)).toEqual({ added: 1, failed: 1 });
    expect((await world.state.item('docs', 'bad'))?.error).toBe('work: try 5');
  });

  test('F25: being told to slow down uses no attempts up, for an hour at the most', async () => {
    failing((call) => (call <= 50 ? new StepError('rate-limited', 'slow down', { retryAfterMs: 60_000 }) : undefined));
    const ended = world.cycle();
    for (let park = 0; park < 50; park += 1) {
      while (world.desk.parked.length === 0) await settle();
      world.clock.advance(60_000);
      world.desk.parked.pop()!.resume();
    }
    expect(counted(await ended)).toEqual({ added: 2 });
  });

  test('a retry setting of the step wins', async () => {
    const work = new WorkStep();
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'work', step: work, retry: { attempts: 2, baseMs: 1_000 } },
    ];
    await world.restart();
    world.random = () => 0.999;
    let calls = 0;
    work.onCall = (key) => {
      if (key !== 'bad') return;
      calls += 1;
      throw new StepError('transient', 'no');
    };
    const ended = world.cycle();
    await world.clock.waiting(999);
    world.clock.advance(999);
    expect(counted(await ended)).toEqual({ added: 1, failed: 1 });
    expect(calls).toBe(2);
  });

  test('F29, F30: a step that never answers is left at its timeout, and what it says later is not looked at', async () => {
    const work = new WorkStep();
    work.gate.isOpen = false;
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'call', step: work, timeoutMs: 1_000, retry: { attempts: 1 } },
      { verb: 'export', target: 'rows' },
    ];
    await world.restart();
    const ended = world.cycle();
    await work.gate.held(2);
    world.clock.advance(999);
    await turns(3);
    expect(world.desk.executing).toBe(2);
    world.clock.advance(1);
    expect(counted(await ended)).toEqual({ failed: 2 });
    expect((await world.state.item('docs', 'bad'))?.error).toBe('call: the step "call" did not answer within 1000 ms');
    work.gate.open();
    await turns();
    expect(world.target.rows.size).toBe(0);
  });

  test('a source that cannot be read for a moment is read again', async () => {
    let reads = 0;
    world.source.onRead = (key) => {
      if (key === 'bad' && ++reads === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    };
    const ended = world.cycle();
    await world.clock.waiting(0);
    world.clock.advance(0);
    expect(counted(await ended)).toEqual({ added: 2 });
  });

  test('an error without a class that user code throws is reported and not tried again', async () => {
    failing(() => new TypeError('undefined is not a function'));
    expect(counted(await world.cycle())).toEqual({ added: 1, failed: 1 });
    expect((await world.state.item('docs', 'bad'))?.error).toBe('work: undefined is not a function');
  });
});

describe('cancelling', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.open({ slots: 2 });
    for (const key of ['a', 'b', 'c']) world.source.write(key, `text of ${key}`);
    world.work.gate.isOpen = false;
    return () => world.state.close();
  });

  test('E7: a cycle ends at once though its steps do not listen, and the next one does the rest', async () => {
    const { run, ended } = world.desk.root({ kind: 'cycle', source: 'docs', path: 'docs' });
    await world.work.gate.held(2);
    world.engine.cancel(run, 'Ctrl-C');
    expect(await ended).toEqual({ kind: 'cancelled', why: 'Ctrl-C' });
    await turns();
    expect([world.desk.openRuns, world.engine.runsInFlight]).toEqual([0, 0]);
    expect((await world.state.updates(1))[0]).toMatchObject({ result: 'Cancelled', message: 'Ctrl-C' });
    world.work.gate.open();
    expect(counted(await world.cycle())).toEqual({ added: 3 });
    expect(await world.state.countWork({})).toBe(0);
  });

  test('a run that waits between attempts, or to be read, ends at once', async () => {
    world.work.onCall = () => {
      throw new StepError('transient', 'down', { retryAfterMs: 4_000 });
    };
    const timers = world.clock.pending();
    const { run, ended } = world.desk.root({ kind: 'item', source: 'docs', key: 'a', path: 'docs/a' });
    await world.clock.waiting(4_000);
    world.engine.cancel(run, 'stop');
    expect(await ended).toEqual({ kind: 'cancelled', why: 'stop' });
    expect(world.clock.pending()).toBe(timers);

    world.source.onRead = () => new Promise<void>(() => {});
    const reading = world.desk.root({ kind: 'item', source: 'docs', key: 'b', path: 'docs/b' });
    while (world.source.reads < 2) await settle();
    world.engine.cancel(reading.run, 'stop');
    expect((await reading.ended).kind).toBe('cancelled');
  });

  test('a listing that hangs ends at once', async () => {
    world.source.onBatch = () => new Promise<void>(() => {});
    const { run, ended } = world.desk.root({ kind: 'cycle', source: 'docs', path: 'docs' });
    await turns();
    world.engine.cancel(run, 'stop');
    expect((await ended).kind).toBe('cancelled');
    world.source.onBatch = () => {};
    world.work.gate.open();
    expect(counted(await world.cycle())).toEqual({ added: 3 });
  });
});

describe('runners that were lost', () => {
  test('F7, F17: an item that took down three runners is quarantined without being run; all others finish', async () => {
    const world = await World.open();
    for (const key of ['a', 'killer']) world.source.write(key, key);
    const mount = world.desk.mount.bind(world.desk);
    world.desk.mount = (parent, request) =>
      mount(parent, request.key === 'killer' ? ({ ...request, losses: 3 } as typeof request) : request);
    expect(counted(await world.cycle())).toEqual({ added: 1, failed: 1 });
    expect(world.work.calls).toEqual(['a']);
    expect(await world.state.item('docs', 'killer')).toMatchObject({ status: 'quarantined', losses: 3 });
    world.desk.mount = mount;
    expect(counted(await world.cycle())).toEqual({ unchanged: 1, failed: 1 });
    world.source.write('killer', 'smaller');
    expect(counted(await world.cycle())).toEqual({ added: 1, unchanged: 1 });
    await world.state.close();
  });

  test('a process that dies again and again over one item leaves it in quarantine', async () => {
    const world = await World.open();
    world.source.write('killer', 'x');
    world.work.gate.isOpen = false;
    for (let death = 0; death < 3; death += 1) {
      void world.cycle();
      await world.work.gate.held(1);
      await world.clock.advanceAsync(2_000, 3);
      world.work.gate.forget();
      await world.restart();
    }
    expect(counted(await world.cycle())).toEqual({ failed: 1 });
    expect(await world.state.item('docs', 'killer')).toMatchObject({ status: 'quarantined' });
    world.work.gate.open();
    expect(counted(await world.cycle({ releaseQuarantined: true }))).toEqual({ added: 1 });
    await world.state.close();
  });

  test('K2: after two deaths each executes alone, and who waits for that is not blamed for the third, however long he waited', async () => {
    const world = await World.open();
    for (const key of ['killer', 'other']) world.source.write(key, key);
    world.work.gate.isOpen = false;
    for (const inside of [2, 2, 1]) {
      void world.cycle();
      await world.work.gate.held(inside);
      await world.clock.advanceAsync(2_000, 3);
      world.work.gate.forget();
      await world.restart();
    }
    world.work.gate.open();
    expect(counted(await world.cycle())).toEqual({ added: 1, failed: 1 });
    expect(await world.state.item('docs', 'killer')).toMatchObject({ status: 'quarantined', losses: 3 });
    expect(await world.state.item('docs', 'other')).toMatchObject({ status: 'ok' });
    await world.state.close();
  });
});
