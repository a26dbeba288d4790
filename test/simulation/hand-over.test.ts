// Operators that end in order and hand over to the next one, again and again, while runners report as they come: nothing else goes wrong, so
// nothing may execute in two places (H6 of operator/host, Q6 of operator/gateway). FAIRLEAD_SIMULATION_SEED plays one seed again.
// Not here: an end that waited for its parent's report while the operator changed once more. Its run is asked for again and finds its work done.
import { expect, test } from 'vitest';
import { World } from './world.ts';

const STEPS = 1_500;
const SEED = process.env.FAIRLEAD_SIMULATION_SEED;
const SEEDS = SEED === undefined ? Array.from({ length: 40 }, (_, i) => i + 1) : [Number(SEED)];

test('over hand-overs in order no component executes in two places, whatever the order in which runners report', () => {
  play((world) => world.handOver());
});

test('F64: nor when operators are killed, and what they said last is lost, while all runners are back in time', () => {
  play((world) => world.restartOperator(0));
});

function play(replace: (world: World) => void): void {
  let replaced = 0;
  let commits = 0;
  for (const seed of SEEDS) {
    const world = new World(seed);
    world.store.keepsWorkList = true;
    for (let step = 0; step < STEPS; step++) {
      playAgainst(world);
      if (world.random.chance(0.01)) {
        replaced++;
        replace(world);
      }
      const twice = executingTwice(world);
      if (twice.length > 0) expect.fail(`seed ${seed}, step ${step}: ${twice.join(', ')}\n${world.log.join('\n')}`);
    }
    commits += world.store.commits;
  }
  expect(replaced, 'operators change').toBeGreaterThan(SEEDS.length * 5);
  expect(commits, 'real work is done').toBeGreaterThan(SEEDS.length * 20);
}

function playAgainst(world: World): void {
  const { random } = world;
  world.clock.step();
  if (random.chance(0.01)) world.addWork(random.pick([...world.store.wanted.keys()]), 5);
  if (random.chance(0.02)) random.pick([...world.streams, undefined])?.congest(random.duration(10, 1_000));
}

/** Components that execute in the same version in two places, whatever their tokens. */
function executingTwice({ runners }: World): string[] {
  const seen = new Set<string>();
  const orders = runners.flatMap(({ engine }) => [...engine.runs.values()].map(({ order }) => order));
  const components = orders.filter(({ kind }) => kind !== 'cycle').map(({ path, version }) => `${path}@${version}`);
  return components.filter((one) => seen.size === seen.add(one).size);
}
