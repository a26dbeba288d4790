// Several engines, as in the runners of a Pipeline, on one shared state under one dispatcher.
import { afterEach, describe, expect, test } from 'vitest';
import { Dispatcher, type UpdateEnding } from '../../operator/dispatch/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { Engine, type StateStore } from '../../runner/execute/index.ts';
import { PostgresState } from '../../runner/state/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { LinesStep, MemoryTarget, ReadStep, TestSource, WorkStep } from './world.ts';

const ITEMS = 120;
const RUNNERS = 3;

const postgres = await testPostgres('several runners on one state');

describe.skipIf(postgres === undefined)('several runners', () => {
  const source = new TestSource();
  const target = new MemoryTarget();
  const stores: StateStore[] = [];
  afterEach(async () => void (await Promise.all(stores.map((store) => store.close()))));

  async function addRunner(dispatcher: Dispatcher, name: string, work: WorkStep): Promise<void> {
    const state = new PostgresState({ url: postgres?.url ?? '', schema: 'fairlead', pipeline: 'search/runners' });
    stores.push(state);
    await state.open(1);
    const steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'lines', step: new LinesStep() },
      { verb: 'work', step: work },
      { verb: 'export' as const, target: 'rows' },
    ];
    const engine = new Engine({
      state,
      plan: { component: { steps }, targets: [target], maxContentBytes: 1_000_000 },
      sources: new Map([['docs', { source, deleteGuard: { maxPercent: 50, minItems: 20 } }]]),
      clock: systemClock,
    });
    engine.connect(dispatcher.addRunner({ name, runnerClass: 'cpu', slots: 4, runner: engine }).uplink);
  }

  test('F22: a source is spread over all of them without a setting, and each item is processed once', async () => {
    for (let at = 0; at < ITEMS; at += 1) source.write(`item-${at}`, `text ${at}\nmore of ${at}`);
    const dispatcher = new Dispatcher({ clock: systemClock, slotsMax: 4 * RUNNERS, epoch: 1 });
    const works = Array.from({ length: RUNNERS }, () => new WorkStep());
    for (const [at, work] of works.entries()) {
      work.gate.isOpen = false;
      await addRunner(dispatcher, `runner-${at}`, work);
    }
    dispatcher.openSource({ name: 'docs' });
    const ended = new Promise<UpdateEnding>((resolve) => {
      dispatcher.startUpdate({
        kind: 'cycle',
        source: 'docs',
        trigger: 'test',
        observer: { ended: (_update, ending) => resolve(ending) },
      });
    });
    // Each works before any of them ends a run.
    await Promise.all(works.map((work) => work.gate.held(1)));
    for (const work of works) work.gate.open();
    expect(await ended).toMatchObject({ result: 'Succeeded', counts: { added: ITEMS, failed: 0 } });
    const calls = works.flatMap((work) => work.calls);
    expect(new Set(calls).size, 'each item').toBe(ITEMS);
    expect(calls.length, 'once').toBe(ITEMS);
    expect(target.rows.size).toBe(2 * ITEMS);
  });
});
