// E8, F17, F41: killed at any moment and started again, the engine ends with the rows of a run that was never killed, state and target agree, and
// nothing is left over. Each call to the state or to the target may be the last that the process makes: carried out or not, it is never answered.
import { expect, test } from 'vitest';
import type { StateStore, Target } from '../../runner/execute/index.ts';
import { settle } from '../support/virtual-clock.ts';
import { audit } from './audit.ts';
import { playRounds, type Random } from './random.ts';
import { EmbedStep, LinesStep, ReadStep, World } from './world.ts';

/** A process that dies at its nth call. */
class Mortal {
  isDead = false;
  #callsLeft: number;
  readonly #isLastDone: boolean;

  constructor(callsLeft: number, isLastDone: boolean) {
    this.#callsLeft = callsLeft;
    this.#isLastDone = isLastDone;
  }

  wrap<T extends object>(object: T): T {
    return new Proxy(object, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (name === 'memo') return this.wrap(value as object);
        return typeof value === 'function'
          ? (...args: unknown[]) => this.#call(() => value.apply(target, args))
          : value;
      },
    });
  }

  #call(body: () => Promise<unknown>): Promise<unknown> {
    if (this.isDead) return new Promise(() => {});
    if (this.#callsLeft-- > 0) return body();
    this.isDead = true;
    if (this.#isLastDone) void body();
    return new Promise(() => {});
  }
}

const WORDS = ['one', 'two', 'three', 'four', 'five', 'six'];
const KEYS = ['a', 'b', 'c/d', 'e%f', 'g'];

function text(random: Random): string {
  return Array.from({ length: random.below(6) }, () => random.pick(WORDS)).join('\n');
}

function edit(world: World, random: Random): void {
  for (let edits = random.below(4); edits >= 0; edits -= 1) {
    const key = random.pick(KEYS);
    const other = world.source.items.get(random.pick(KEYS));
    if (random.chance(0.25)) world.source.remove(key);
    else if (random.chance(0.2) && other !== undefined) world.source.items.set(key, other);
    else world.source.write(key, text(random));
  }
}

const STEPS = (isNested: boolean, model: string) => [
  { verb: 'read', step: new ReadStep() },
  { verb: 'lines', step: new LinesStep() },
  { verb: 'embed', step: new EmbedStep(model) },
  ...(isNested
    ? [{ verb: 'forEach' as const, component: { steps: [{ verb: 'export' as const, target: 'rows' }] } }]
    : [{ verb: 'export' as const, target: 'rows' }]),
];

/** One update of some kind, to its end or to the death of the process. */
async function update(world: World, random: Random, mortal: Mortal): Promise<void> {
  const key = random.pick(KEYS);
  const kinds = [
    () => world.cycle(),
    () => world.cycle(),
    () => world.key(key),
    () => world.desk.root({ kind: 'pipeline', reprocess: random.chance(0.5) }).ended,
  ];
  const updates = Array.from({ length: 1 + random.below(2) }, () => random.pick(kinds)());
  let isOver = false;
  void Promise.all(updates).then(() => {
    isOver = true;
  });
  while (!isOver && !mortal.isDead) await settle();
  await settle();
}

async function life(world: World, random: Random): Promise<void> {
  const mortal = new Mortal(random.chance(0.2) ? 1_000_000 : random.below(40), random.chance(0.5));
  world.steps = STEPS(random.chance(0.5), random.pick(['m1', 'm2']));
  await world.restart(
    (state) => mortal.wrap<StateStore>(state),
    (target) => mortal.wrap<Target>(target),
  );
  edit(world, random);
  await update(world, random, mortal);
}

/** Rows as a reader sees them. */
function rows(world: World): object {
  return [...world.target.rows].sort(([a], [b]) => (a < b ? -1 : 1));
}

test('E8, F17, F41: kill at any call, then a plain rerun: rows of a clean run, state and target agree, nothing is left over', async () => {
  await playRounds(Number(process.env.FAIRLEAD_ROUNDS ?? 25), async (random) => {
    const world = await World.open({ slots: 1 + random.below(4) });
    for (let lives = 3 + random.below(5); lives > 0; lives -= 1) await life(world, random);
    await world.restart();
    const outcome = await world.cycle();
    expect(outcome).toMatchObject({ kind: 'done', counts: { failed: 0 } });
    await audit(world.store, world.target, world.source);

    const clean = new World({ slots: 8 });
    clean.steps = world.steps;
    for (const [key, item] of world.source.items) clean.source.items.set(key, item);
    await clean.start();
    await clean.cycle();
    expect(rows(world)).toEqual(rows(clean));
    await world.store.close();
    await clean.store.close();
  });
});
