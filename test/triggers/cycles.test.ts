// T1 to T5: how triggers become cycles, with a door that opens updates and lets the test play their runs.
import { expect, test } from 'vitest';
import { Cycles, OPEN_CYCLES_MAX } from '../../operator/triggers/index.ts';
import { FakeDoor } from './door.ts';

const cyclesOf = (door: FakeDoor) => new Cycles({ door, source: 'docs' });

test('T1 T3: a thousand triggers during one listing make one next cycle', () => {
  const door = new FakeDoor();
  const cycles = cyclesOf(door);
  cycles.want({ trigger: 'start' });
  for (let i = 0; i < 1000; i++) cycles.want({ trigger: 'push' });
  expect(door.started.length, 'only one may list').toBe(1);
  door.endListing(0);
  expect(door.started.map(({ trigger }) => trigger)).toEqual(['start', 'push']);
  door.endListing(1);
  expect(door.started.length, 'nobody asked again').toBe(2);
});

test('T1: the next cycle lists while items of the one before still wait', () => {
  const door = new FakeDoor();
  const cycles = cyclesOf(door);
  cycles.want({ trigger: 'start' });
  door.endListing(0);
  cycles.want({ trigger: 'interval' });
  expect(door.started.length).toBe(2);
});

test('T2 F10: four cycles are open at most; the fifth opens when one ends', () => {
  const door = new FakeDoor();
  const cycles = cyclesOf(door);
  for (let i = 0; i < 10; i++) {
    cycles.want({ trigger: 'interval' });
    if (i < OPEN_CYCLES_MAX) door.endListing(i);
  }
  expect(door.started.length).toBe(OPEN_CYCLES_MAX);
  door.end(2);
  expect(door.started.length).toBe(OPEN_CYCLES_MAX + 1);
});

test('T3: the joined cycle carries what any of its triggers asked for', () => {
  const door = new FakeDoor();
  const cycles = cyclesOf(door);
  cycles.want({ trigger: 'start' });
  cycles.want({ trigger: 'push' });
  cycles.want({ trigger: 'manual', reprocess: true });
  cycles.want({ trigger: 'manual', allowDeletes: true, releaseQuarantined: true });
  door.end(0);
  expect(door.started[1]).toMatchObject({
    trigger: 'push',
    reprocess: true,
    allowDeletes: true,
    releaseQuarantined: true,
  });
});

test('T1: a cycle that fails before its listing ended lets the next one list', () => {
  const door = new FakeDoor();
  const cycles = cyclesOf(door);
  cycles.want({ trigger: 'start' });
  cycles.want({ trigger: 'interval' });
  door.cancelUpdate('docs-1');
  expect(door.started.length).toBe(2);
});

test('T5: while anybody keeps the door shut nothing opens; one cycle opens afterwards', () => {
  const door = new FakeDoor();
  const cycles = cyclesOf(door);
  cycles.shut('suspended');
  cycles.shut('pipeline');
  cycles.want({ trigger: 'interval' });
  cycles.want({ trigger: 'interval' });
  cycles.unshut('pipeline');
  expect(door.started.length).toBe(0);
  cycles.unshut('suspended');
  expect(door.started.length).toBe(1);
});
