// Shares of cards between the dispatcher and runners that the test plays: R1 to R4 of operator/dispatch/cards.ts, P5 of placement.ts, G3 to G6.
import { describe, expect, test } from 'vitest';
import { PASSES_MAX } from '../../operator/cards/index.ts';
import { EMPTY_REPORT, type RunnerReport } from '../../runner/protocol/index.ts';
import { Random } from '../simulation/random.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { World, type WorldRunner } from './world.ts';

/** A world with a runner of so many cards, and one update whose root executes there. */
function withRoot(cards: number): World & { readonly it: WorldRunner; readonly root: number } {
  const world = new World({ slotsMax: 64 });
  const it = world.runner('a', 64, 'gpu', cards);
  world.update();
  return Object.assign(world, { it, root: it.runner.runAt('') });
}

const heldMilli = (world: World): number[] => world.dispatcher.cards.snapshot().map((card) => card.heldMilli);

describe('shares of cards', () => {
  test('R2: an ask is granted while there is room, waits otherwise, and is served when a body has ended', () => {
    const { it, root, ...world } = withRoot(1);
    const { uplink, grants } = it.runner;
    for (const ask of [1, 2, 3]) uplink.askCard(root, ask, 500);
    world.dispatcher.flush();
    expect([...grants]).toEqual([
      [1, { cards: [0], milliShare: 500 }],
      [2, { cards: [0], milliShare: 500 }],
    ]);
    uplink.cardReturned(root, 1, 10);
    world.dispatcher.flush();
    expect(grants.get(3)).toEqual({ cards: [0], milliShare: 500 });
  });

  test('R2: what no card of the runner can ever serve is refused at once, with what to do about it', () => {
    const { it, root, ...world } = withRoot(1);
    it.runner.uplink.askCard(root, 1, 2000);
    it.runner.uplink.askCard(root, 2, 1500);
    it.runner.uplink.askCard(999, 3, 500);
    world.dispatcher.flush();
    expect([...it.runner.refusals]).toEqual([
      [1, 'gpu asks for 2 cards of one runner, and the runners of its class have 1: raise gpus of the class'],
      [2, 'gpu must be a share below one card, such as 500m, or a whole number of cards; 1500m is neither'],
      [3, 'its run is over'],
    ]);
  });

  test('R1 G6: a body that goes on after its run is over keeps its share until it ends', () => {
    const { it, root, ...world } = withRoot(1);
    const { runner } = it;
    runner.uplink.askCard(root, 1, 1000);
    runner.exit('');
    world.dispatcher.flush();
    expect(world.dispatcher.updates.size).toBe(0);
    expect(world.dispatcher.cards.snapshot()[0]?.heldMilli).toBe(1000);
    runner.uplink.cardReturned(root, 1, 5);
    expect(world.dispatcher.cards.snapshot()[0]?.heldMilli).toBe(0);
  });

  test('R3: a return that was said twice, or of nothing, gives nothing back twice', () => {
    const { it, root, ...world } = withRoot(1);
    const { uplink, grants } = it.runner;
    for (const ask of [1, 2, 3]) uplink.askCard(root, ask, 1000);
    for (const ask of [1, 1, 77]) uplink.cardReturned(root, ask, 1);
    world.dispatcher.flush();
    expect([...grants.keys()]).toEqual([1, 2]);
    world.dispatcher.audit();
  });

  test('a wish that is withdrawn while it waits is never granted', () => {
    const { it, root, ...world } = withRoot(1);
    const { uplink, grants } = it.runner;
    for (const ask of [1, 2, 3]) uplink.askCard(root, ask, 1000);
    uplink.cardReturned(root, 2, 0);
    uplink.cardReturned(root, 1, 1);
    world.dispatcher.flush();
    expect([...grants.keys()]).toEqual([1, 3]);
  });

  test('F81, F82, G6: a silent runner keeps all its shares, and they are gone with the runner, once', () => {
    const { it, root, ...world } = withRoot(2);
    it.runner.uplink.askCard(root, 1, 1000);
    world.dispatcher.silenceRunner(it.seat);
    expect(world.dispatcher.cards.snapshot().map((card) => card.heldMilli)).toEqual([1000, 0]);
    world.dispatcher.removeRunner(it.seat);
    expect(world.dispatcher.cards.snapshot()).toEqual([]);
    expect(world.dispatcher.cards.branches()).toEqual([]);
    it.runner.uplink.cardReturned(root, 1, 1);
    world.dispatcher.audit();
  });

  test("G3 R4: a small refresh's call comes before the many calls of another source's re-index that wait longer", () => {
    const world = new World({ slotsMax: 64 });
    const { runner } = world.runner('a', 64, 'gpu', 1);
    for (const name of ['big', 'small']) world.dispatcher.openSource({ name });
    world.update({ source: 'big' });
    const big = runner.runAt('big');
    for (let ask = 1; ask <= 20; ask++) runner.uplink.askCard(big, ask, 500);
    world.update({ source: 'small' });
    runner.uplink.askCard(runner.runAt('small'), 100, 500);
    world.do(() => runner.uplink.cardReturned(big, 1, 1));
    expect([...runner.grants.keys()]).toEqual([1, 2, 100]);
    expect(
      world.dispatcher.cards.branches().map(({ path, heldMilli, waiting }) => [path[0], heldMilli, waiting]),
    ).toEqual(
      expect.arrayContaining([
        ['big', 500, 18],
        ['small', 500, 0],
      ]),
    );
  });

  test('G3: a weight decides shares of cards as it decides slots, from the next freed one on', () => {
    const world = new World({ slotsMax: 64 });
    const { runner } = world.runner('a', 64, 'gpu', 1);
    for (const name of ['a', 'b']) {
      world.dispatcher.openSource({ name });
      world.update({ source: name });
    }
    const [a, b] = [runner.runAt('a'), runner.runAt('b')];
    for (let ask = 1; ask <= 12; ask++) runner.uplink.askCard(a, ask, 250);
    for (let ask = 101; ask <= 112; ask++) runner.uplink.askCard(b, ask, 250);
    world.dispatcher.editSource('b', { weight: 3 });
    for (const ask of [1, 2, 3, 4]) world.do(() => runner.uplink.cardReturned(a, ask, 1));
    const heldBy = (path: string) => world.dispatcher.cards.branches().find((branch) => branch.path.join('/') === path);
    expect([heldBy('a')?.heldMilli, heldBy('b')?.heldMilli]).toEqual([250, 750]);
  });
});

describe('placement by card load (G4, P5)', () => {
  const orders = ['at once', 'one by one', 'in random order'] as const;

  test.for(orders)('F72: sixteen runs of 500m on eight one-card runners put exactly two on each card: %s', (order) => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = new Random(seed);
      const world = new World({ slotsMax: 64 });
      const runners = Array.from({ length: 8 }, (_, i) => world.runner(`r${(i * seed) % 8}-${i}`, 64, 'gpu', 1).runner);
      world.update();
      const root = runners.find((runner) => runner.paths().includes(''))!;
      const indices = Array.from({ length: 16 }, (_, i) => i);
      if (order === 'in random order') indices.sort(() => random.next() - 0.5);
      const mount = (i: number) => root.mount('', { path: `x${i}`, mount: i, milliCards: 500, runnerClass: 'gpu' });
      if (order === 'at once') world.do(() => indices.forEach(mount));
      else for (const i of indices) world.do(() => mount(i));
      const asked = runners.flatMap((runner) =>
        runner.paths().flatMap((path) => (path === '' ? [] : [{ runner, run: runner.runAt(path) }])),
      );
      if (order === 'in random order') asked.sort(() => random.next() - 0.5);
      for (const [ask, { runner, run }] of asked.entries()) world.do(() => runner.uplink.askCard(run, ask, 500));
      expect(heldMilli(world), `seed ${seed}`).toEqual(Array.from({ length: 8 }, () => 1000));
      expect(runners.map(({ grants }) => grants.size)).toEqual(Array.from({ length: 8 }, () => 2));
    }
  });

  test("a run with cards leaves its parent's runner for one whose cards are less spoken for, and never goes where there are too few", () => {
    const world = new World({ slotsMax: 64 });
    const [none, one, four] = [0, 1, 4].map((cards) => world.runner(`cards-${cards}`, 64, 'gpu', cards).runner);
    world.update();
    const root = [none!, one!, four!].find((runner) => runner.paths().includes(''))!;
    world.do(() => {
      root.mount('', { path: 'two', mount: 1, milliCards: 2000 });
      for (let i = 2; i < 6; i++) root.mount('', { path: `half-${i}`, mount: i, milliCards: 500 });
    });
    expect(four!.paths()).toEqual(['two', 'half-4', 'half-5']);
    expect(one!.paths()).toEqual(['half-2', 'half-3']);
    expect(none!.paths().filter((path) => path !== '')).toEqual([]);
  });
});

describe('whole requests beside fractions (G5)', () => {
  test.for([1, 2, 4])(
    'a stream of fractions passes a whole request on %d cards at most eight times, and once more for each other card',
    (cards) => {
      for (let seed = 1; seed <= 10; seed++) {
        const random = new Random(seed);
        const { it, root, ...world } = withRoot(cards);
        const { uplink, grants } = it.runner;
        const open: number[] = [];
        let asks = 0;
        const askFraction = () => {
          open.push(++asks);
          uplink.askCard(root, asks, random.pick([100, 300, 500, 900]));
        };
        for (let i = 0; i < 8 * cards; i++) askFraction();
        world.dispatcher.flush();
        const whole = ++asks;
        uplink.askCard(root, whole, 1000 * cards);
        let served = 0;
        for (let i = 0; i < 500 && !grants.has(whole); i++) {
          const held = open.filter((ask) => grants.has(ask));
          const ended = random.pick(held);
          open.splice(open.indexOf(ended), 1);
          const before = [...grants.keys()].filter((ask) => ask > whole).length;
          uplink.cardReturned(root, ended, 1);
          askFraction();
          world.dispatcher.flush();
          served += [...grants.keys()].filter((ask) => ask > whole).length - before;
          world.dispatcher.audit();
        }
        expect(grants.get(whole)?.cards, `seed ${seed}`).toHaveLength(cards);
        expect(served, `seed ${seed}`).toBeLessThanOrEqual(PASSES_MAX + cards - 1);
      }
    },
  );
});

describe('a new operator', () => {
  const order = (run: number) => ({
    token: { epoch: 1, run, attempt: 1 },
    update: 'docs-1-1',
    updateOf: 'docs',
    path: 'docs',
    kind: 'cycle' as const,
    source: 'docs',
  });

  test('takes over what is held, grants what waits, and hears of returns as the one before it would have', () => {
    const world = new World({ epoch: 2 });
    world.dispatcher.openSource({ name: 'docs' });
    const runner = new ScriptedRunner();
    const report: RunnerReport = {
      ...EMPTY_REPORT,
      runs: [{ order: order(5), mounts: [] }],
      cards: [
        { run: 5, ask: 7, milli: 500, update: 'docs-1-1', cards: [1] },
        { run: 4, ask: 6, milli: 1000, update: 'gone-1-9', cards: [0] },
        { run: 5, ask: 8, milli: 700, update: 'docs-1-1' },
        { run: 5, ask: 9, milli: 500, update: 'docs-1-1' },
      ],
    };
    const { uplink } = world.dispatcher.adoptRunner(
      { name: 'a', runnerClass: 'gpu', slots: 8, cards: 2, runner },
      report,
    );
    world.settle();
    expect(heldMilli(world)).toEqual([1000, 1000]);
    expect([...runner.grants]).toEqual([[9, { cards: [1], milliShare: 500 }]]);
    expect(world.dispatcher.cards.branches().map(({ path, heldMilli: held }) => [path.join('/'), held])).toEqual([
      ['docs', 1000],
      ['docs/docs-1-1', 1000],
      ['gone-1-9', 1000],
    ]);
    world.do(() => uplink.cardReturned(4, 6, 1));
    expect(runner.grants.get(8)).toEqual({ cards: [0], milliShare: 700 });
    world.dispatcher.audit();
  });
});

test('a run that was reported before its parent, which wants another share for it by now, is counted right on its runner', () => {
  const world = new World({ epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  const common = { update: 'docs-1-1', updateOf: 'docs', source: 'docs' } as const;
  const child = { path: 'docs/a', kind: 'item', key: 'a', version: '1' } as const;
  const report = (runs: RunnerReport['runs']): RunnerReport => ({ ...EMPTY_REPORT, runs });
  world.dispatcher.expectRunner('b', 8);
  world.dispatcher.adoptRunner(
    { name: 'a', runnerClass: 'gpu', slots: 8, cards: 1, runner: new ScriptedRunner() },
    report([
      {
        order: { ...common, ...child, milliCards: 400, parentRun: 5, token: { epoch: 1, run: 6, attempt: 1 } },
        mounts: [],
      },
    ]),
  );
  world.dispatcher.adoptRunner(
    { name: 'b', runnerClass: 'gpu', slots: 8, cards: 1, runner: new ScriptedRunner() },
    report([
      {
        order: { ...common, path: 'docs', kind: 'cycle', token: { epoch: 1, run: 5, attempt: 1 } },
        mounts: [{ request: { ...child, ...common, mount: 1, milliCards: 900 }, isStarted: true }],
      },
    ]),
  );
  world.dispatcher.unexpectRunner('b');
  world.settle();
  world.dispatcher.audit();
  expect([...world.dispatcher.seats()].map(({ spokenMilli }) => spokenMilli)).toEqual([900, 0]);
});

test('whatever runners ask, return, withdraw, and however they are lost, no card is overdrawn, and all comes back', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = new Random(seed);
    const world = new World({ slotsMax: 64, packsCards: random.chance(0.5) });
    const alive: (WorldRunner & { asks: number[] })[] = [];
    let names = 0;
    let asks = 0;
    const join = () => alive.push({ ...world.runner(`r${++names}`, 16, 'gpu', random.integer(1, 4)), asks: [] });
    join();
    for (let step = 0; step < 400; step++) {
      const one = random.pick(alive);
      const dice = random.integer(0, 99);
      if (dice < 5 && alive.length < 6) join();
      else if (dice < 8 && alive.length > 1) {
        alive.splice(alive.indexOf(one), 1);
        world.do(() => world.dispatcher.removeRunner(one.seat));
      } else if (dice < 20) world.update();
      else if (dice < 60) {
        const run = [...one.runner.running.keys()].at(-1);
        if (run !== undefined) {
          one.asks.push(++asks);
          world.do(() => one.runner.uplink.askCard(run, asks, random.pick([100, 400, 500, 1000, 2000])));
        }
      } else {
        const [ask] = one.asks.splice(random.integer(0, one.asks.length), 1);
        if (ask !== undefined) world.do(() => one.runner.uplink.cardReturned(0, ask, 1));
      }
      world.dispatcher.audit();
      expect(Math.max(0, ...heldMilli(world)), `seed ${seed}, step ${step}`).toBeLessThanOrEqual(1000);
    }
    for (const { runner, asks: open } of alive)
      for (const ask of open) world.do(() => runner.uplink.cardReturned(0, ask, 1));
    expect(world.dispatcher.cards.shares(), `seed ${seed}`).toEqual([]);
    expect(heldMilli(world).every((milli) => milli === 0)).toBe(true);
  }
});
