// The operator's clock: one reading for all that is decided in a turn.
import { expect, test } from 'vitest';
import { turnClock } from '../../operator/clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

test('what is decided in one turn happens at one moment, and the next turn is later', async () => {
  const machine = new VirtualClock(1_000);
  const clock = turnClock(machine);
  expect(clock.nowMs()).toBe(1_000);
  machine.advance(5);
  expect(clock.nowMs()).toBe(1_000);
  await Promise.resolve();
  expect(clock.nowMs()).toBe(1_005);
});

test('its timers are those of the machine', () => {
  const machine = new VirtualClock(0);
  const woken: number[] = [];
  turnClock(machine).after(10, () => woken.push(machine.nowMs()));
  machine.advance(20);
  expect(woken).toEqual([10]);
});
