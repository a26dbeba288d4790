// One simulation: chance plays against the world for a number of steps, the claims are checked after each, then the world is left in peace
// and everything must come to its end.
import type { EngineRun } from './engine.ts';
import { World } from './world.ts';

export interface SimulationResult {
  readonly steps: number;
  readonly commits: number;
  readonly fenced: number;
  readonly actions: number;
}

/** What failed, with what led to it. */
export class SimulationFailure extends Error {
  constructor(seed: number, step: number, claim: string, log: readonly string[]) {
    super(`seed ${seed}, step ${step}: ${claim}\n${log.slice(-60).join('\n')}`);
    this.name = 'SimulationFailure';
  }
}

/** Long enough for every lease, margin and hand-over to end several times, and for parked runs to come back. */
const PEACE_MS = 1_500_000;

export function simulate(seed: number, steps: number): SimulationResult {
  const world = new World(seed);
  let step = 0;
  let actions = 0;
  const check = (act: () => void) => {
    try {
      act();
      checkClaims(world);
    } catch (error) {
      const claim = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const runs = world.operator?.dispatcher.describe() ?? '';
      throw new SimulationFailure(seed, step, claim, [...world.log, 'live runs:', runs]);
    }
  };
  for (; step < steps; step++) {
    check(() => world.clock.step());
    if (world.random.chance(0.02)) {
      actions++;
      check(() => playAgainst(world));
    }
  }
  check(() => makePeace(world));
  const untilMs = world.clock.nowMs() + PEACE_MS;
  while (world.clock.nowMs() < untilMs && !world.isDone() && world.clock.step()) check(() => {});
  check(() => checkEnd(world));
  return { steps, commits: world.store.commits, fenced: world.store.fenced, actions };
}

function playAgainst(world: World): void {
  const { random, runners } = world;
  const runner = runners.length === 0 ? undefined : random.pick(runners);
  const dice = random.integer(0, 99);
  if (dice < 20) world.addWork(random.pick([...world.store.wanted.keys()]), random.integer(1, 10));
  else if (dice < 40) {
    const stream = random.pick([...world.streams, undefined]);
    stream?.breakNow();
    if (stream !== undefined) world.streams.delete(stream);
  } else if (dice < 50) random.pick([...world.streams, undefined])?.congest(random.duration(10, 3_000));
  else if (dice < 58 && runner !== undefined) world.killRunner(runner, random.chance(0.5));
  else if (dice < 66 && runners.length < 6) world.startRunner(random.chance(0.3) ? 'gpu' : 'cpu');
  else if (dice < 70 && runner !== undefined) world.drainRunner(runner);
  else if (dice < 76 && runner !== undefined) world.freezeRunner(runner, random.duration(100, 40_000));
  else if (dice < 82 && runner !== undefined) world.isolate(runner, random.duration(100, 40_000));
  else if (dice < 88) world.restartOperator(random.duration(10, 8_000));
  else if (dice < 92) world.replaceOperator(random.integer(10, 5_000));
  else if (dice < 96) world.cancelSomething();
}

/** No more faults: an operator, runners of both classes, and time. */
function makePeace(world: World): void {
  world.note('peace');
  world.makePeace();
}

function checkClaims(world: World): void {
  checkLimit(world);
  checkTwice(world);
  checkCards(world);
  const { operator } = world;
  if (operator?.process.isAlive === true) operator.dispatcher.audit();
}

/** Executing runs never exceed the limit, at any instant, whoever leads. */
function checkLimit(world: World): void {
  let executing = 0;
  for (const runner of world.countedRunners()) executing += runner.engine.executing().length;
  if (executing > world.limit) {
    const where = world.countedRunners().map(({ name, engine }) => {
      const runs = engine.executing().map(({ order, token }) => `${order.path}@${token.epoch}/${token.run % 2 ** 36}`);
      return `${name}: ${runs.join(' ')}`;
    });
    throw new Error(`${executing} runs execute, the limit is ${world.limit}\n${where.join('\n')}`);
  }
}

/** No component is executed twice under tokens of the newest epoch. */
function checkTwice(world: World): void {
  const epoch = world.operator?.epoch ?? 0;
  const seen = new Map<string, EngineRun>();
  for (const { name, engine } of world.countedRunners()) {
    for (const run of engine.runs.values()) {
      if (run.order.kind === 'cycle' || run.token.epoch !== epoch) continue;
      const other = seen.get(run.order.path);
      if (other !== undefined) {
        throw new Error(
          `${run.order.path} executes twice (second on ${name}): ${JSON.stringify([other.token, run.token])}`,
        );
      }
      seen.set(run.order.path, run);
    }
  }
}

/** No card is granted twice: bodies never use more of it than it has, those whose run or session is over included (G6). */
function checkCards(world: World): void {
  for (const { name, engine } of world.runners) {
    for (const [card, milli] of engine.bodies.inUse()) {
      if (milli > 1000) throw new Error(`card ${card} of ${name} is used by ${milli} thousandths`);
    }
  }
}

function checkEnd(world: World): void {
  for (const source of world.store.wanted.keys()) {
    const missing = world.store.missing(source);
    if (missing.length > 0) throw new Error(`work of ${source} was lost: ${missing.join(' ')} never committed`);
  }
  const { dispatcher } = world.operator!;
  if (dispatcher.liveRuns > 0) throw new Error(`${dispatcher.liveRuns} runs never ended: ${dispatcher.describe()}`);
  if (dispatcher.updates.size > 0) throw new Error(`updates never ended: ${[...dispatcher.updates.keys()].join(' ')}`);
  const shares = dispatcher.cards.shares();
  if (shares.length > 0) throw new Error(`${shares.length} shares of cards never came back`);
  for (const seat of dispatcher.seats()) {
    if (seat.executing !== 0) throw new Error(`${seat.name} still counts ${seat.executing} runs`);
  }
  for (const { name, engine } of world.runners) {
    if (engine.runs.size > 0) throw new Error(`${name} still executes ${engine.runs.size} runs`);
    if (engine.bodies.size > 0) throw new Error(`${name} has ${engine.bodies.size} bodies without an end`);
  }
}
