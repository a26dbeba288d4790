// Claims on cards that no node takes: Q1 and Q2 of operator/reconcile/runners/claims.ts, and that the plan lets those pods go first.
import { expect, test } from 'vitest';
import { Claims } from '../../operator/reconcile/runners/claims.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const PATIENCE_MS = 300_000;
const KEY = 'uid/gpu';

function pod(name: string, createdAtMs: number, nodeName?: string) {
  return {
    metadata: { name, creationTimestamp: new Date(createdAtMs).toISOString() },
    spec: nodeName === undefined ? {} : { nodeName },
    status: { phase: nodeName === undefined ? 'Pending' : 'Running' },
  } as never;
}

function world() {
  const clock = new VirtualClock(1_000_000);
  return { clock, claims: new Claims(clock, PATIENCE_MS), startMs: clock.nowMs() };
}

test('a class claims what it wants while its pods find nodes, or have waited only for a while', () => {
  const { clock, claims, startMs } = world();
  const pods = [pod('a', startMs, 'n1'), pod('b', startMs)];
  expect(claims.claimed(KEY, 4, pods)).toBe(4);
  clock.advance(PATIENCE_MS - 1);
  expect(claims.claimed(KEY, 4, pods)).toBe(4);
  expect(claims.nextLookAtMs(KEY, pods)).toBe(startMs + PATIENCE_MS);
});

test('Q1: once a pod waited too long, the class claims only the pods that nodes have taken', () => {
  const { clock, claims, startMs } = world();
  clock.advance(PATIENCE_MS);
  expect(claims.claimed(KEY, 4, [pod('a', startMs, 'n1'), pod('b', startMs), pod('c', startMs)])).toBe(1);
  expect(claims.claimed(KEY, 4, [pod('a', startMs, 'n1')]), 'the pods that waited are gone').toBe(1);
});

test('Q2: after as long again it claims anew what it wants', () => {
  const { clock, claims, startMs } = world();
  clock.advance(PATIENCE_MS);
  expect(claims.claimed(KEY, 2, [pod('a', startMs)])).toBe(0);
  expect(claims.nextLookAtMs(KEY, [])).toBe(clock.nowMs() + PATIENCE_MS);
  clock.advance(PATIENCE_MS);
  expect(claims.claimed(KEY, 2, [])).toBe(2);
});

test('a pod that is being deleted, or whose class is another, lowers nothing', () => {
  const { clock, claims, startMs } = world();
  clock.advance(PATIENCE_MS);
  const going = pod('a', startMs) as { metadata: Record<string, unknown> };
  going.metadata.deletionTimestamp = 'now';
  expect(claims.claimed(KEY, 2, [going as never])).toBe(2);
  claims.claimed('uid/other', 2, [pod('b', startMs)]);
  expect(claims.claimed(KEY, 2, [])).toBe(2);
});
