// Time by the store's clock, and the epochs of those who open it.
import { describe, expect, test } from 'vitest';
import { replaced, token } from '../build.ts';
import type { Subject } from './subject.ts';

export function epochClaims(on: Subject): void {
  describe('time', () => {
    test('the store never gives the same time twice, and an item is seen before a listing that begins after its commit', async () => {
      await on.commit(replaced('a'));
      const beganAtMs = await on.state.nowMs();
      await on.commit(replaced('b'));
      expect((await on.state.item('docs', 'a'))!.seenAtMs).toBeLessThan(beganAtMs);
      expect((await on.state.item('docs', 'b'))!.seenAtMs).toBeGreaterThan(beganAtMs);
      await on.reopen();
      expect(await on.state.nowMs()).toBeGreaterThan(beganAtMs);
    });
  });

  describe('epochs', () => {
    test('a newer leader fences the commits of the older one', async () => {
      await on.commit(replaced('a'));
      await on.reopen(5);
      expect(await on.commit(replaced('b', { token: token(99, 1, 4) }))).toEqual(['fenced by epoch']);
      expect(await on.commit(replaced('b', { token: token(1, 1, 5) }))).toEqual(['committed']);
    });

    test('a process without a leader above it gets the next epoch', async () => {
      expect(await on.reopen('next')).toBe(2);
      expect(await on.reopen('next')).toBe(3);
    });

    test('P1, P2: a leader writes above what the store has seen, later leaders above that, and all runners of one at one epoch', async () => {
      expect(await on.reopen('next')).toBe(2);
      await on.commit(replaced('a', { token: token(9, 1, 2) }));
      expect(await on.reopen(1)).toBe(3);
      expect(await on.reopen(1)).toBe(3);
      expect(await on.commit(replaced('a', { token: token(1, 1, 3), base: token(9, 1, 2) }))).toEqual(['committed']);
      expect(await on.reopen(2)).toBe(4);
    });

    test('P3: an operator that was installed anew counts from one again, and is let in where nobody else works', async () => {
      expect(await on.reopen(5)).toBe(5);
      expect(await on.reopen(1)).toBe(6);
      expect(await on.reopen(2)).toBe(7);
    });
  });
}
