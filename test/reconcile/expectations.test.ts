// What was asked for and the cache does not show yet; X1 to X3 are the invariants at the head of operator/reconcile/runners/expectations.ts.
import { describe, expect, test } from 'vitest';
import { Expectations, type PodObject } from '../../operator/reconcile/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const POD = { name: 'index-0', ordinal: 0, fingerprint: 'now', runnerClass: 'default' };
const shown: PodObject = { metadata: { name: 'index-0', uid: 'u-0' } };

function expecting() {
  const clock = new VirtualClock(0);
  return { clock, all: new Expectations(clock) };
}

describe('expectations', () => {
  test('X1: a pod whose create was sent counts as there until it is shown, or it is overdue', () => {
    const { clock, all } = expecting();
    all.creating('owner', POD);
    expect(all.missing('owner', [])).toMatchObject([POD]);
    clock.advance(30_000);
    expect(all.missing('owner', [])).toEqual([]);
    all.creating('owner', POD);
    expect(all.missing('owner', [shown])).toEqual([]);
  });

  test('X2: a pod whose delete was sent counts as being deleted, and no longer than that may take', () => {
    const { clock, all } = expecting();
    all.deleting('owner', 'u-0');
    expect(all.isBeingDeleted('owner', shown)).toBe(true);
    clock.advance(30_000);
    expect(all.isBeingDeleted('owner', shown)).toBe(false);
  });

  test('X3: what never comes says when to look again; what is shown, or is being deleted, needs no look', () => {
    const { clock, all } = expecting();
    expect(all.dueAtMs('owner', [])).toBeUndefined();
    all.creating('owner', POD);
    clock.advance(10_000);
    all.deleting('owner', 'u-1');
    const lingering: PodObject = { metadata: { name: 'index-1', uid: 'u-1' } };
    expect(all.dueAtMs('owner', [lingering])).toBe(30_000);
    expect(all.dueAtMs('owner', [shown, lingering])).toBe(40_000);
    const going: PodObject = { metadata: { ...lingering.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(all.dueAtMs('owner', [shown, going])).toBeUndefined();
    clock.advance(30_000);
    expect(all.dueAtMs('owner', [shown, lingering])).toBeUndefined();
  });
});
