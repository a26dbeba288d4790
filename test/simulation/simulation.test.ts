// Operators and runners under loss, delay, reordering across streams, partitions, frozen processes, kills and take-overs: after every step
// executing runs are within the limit, no component executes twice under valid tokens, and all counts equal those counted the slow way; in
// the end no run and no work was lost. FAIRLEAD_SIMULATION_STEPS makes it longer, FAIRLEAD_SIMULATION_SEED plays one seed again.
import { expect, test } from 'vitest';
import { simulate } from './simulation.ts';

const STEPS = Number(process.env.FAIRLEAD_SIMULATION_STEPS ?? 100_000);
const STEPS_PER_SEED = 4_000;
const SEED = process.env.FAIRLEAD_SIMULATION_SEED;

test('F62, F64: no fault of network or processes breaks the limit, executes a component twice, or loses a run', {
  timeout: 3_600_000,
}, () => {
  const seeds =
    SEED === undefined ? Array.from({ length: Math.ceil(STEPS / STEPS_PER_SEED) }, (_, i) => i + 1) : [Number(SEED)];
  const total = { commits: 0, fenced: 0, actions: 0 };
  for (const seed of seeds) {
    const { commits, fenced, actions } = simulate(seed, STEPS_PER_SEED);
    total.commits += commits;
    total.fenced += fenced;
    total.actions += actions;
  }
  expect(total.commits, 'the simulation does real work').toBeGreaterThan(seeds.length * 20);
  expect(total.actions).toBeGreaterThan(seeds.length * 40);
});
