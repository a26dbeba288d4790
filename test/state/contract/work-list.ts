// What becomes of offered work (W1 to W6), and of the work of updates that are over.
import { describe, expect, test } from 'vitest';
import type { WorkRef } from '../../../runner/execute/index.ts';
import { failed, listed, removed, replaced, token, work } from '../build.ts';
import { type Subject, verdicts } from './subject.ts';

export function workListClaims(on: Subject): void {
  describe('the work list', () => {
    test('entries are taken by update in the order of entry, in pages', async () => {
      await on.state.enter([work('c'), work('a'), work('x', { update: 'u2' }), work('b')]);
      const first = await on.state.takeWork('u1', 0, 2);
      expect(first.map(({ key }) => key)).toEqual(['c', 'a']);
      expect((await on.state.takeWork('u1', first[1]!.seq, 10)).map(({ key }) => key)).toEqual(['b']);
      expect(await on.state.takeWork('nobody', 0, 10)).toEqual([]);
    });

    test('an entry says that the item is new as it was told, and no more once another update adopted it', async () => {
      await on.state.enter([work('a', { fresh: true }), work('b')]);
      expect((await on.state.takeWork('u1', 0, 10)).map(({ fresh }) => fresh)).toEqual([true, undefined]);
      await on.state.adoptWork('docs', 'u2', []);
      expect((await on.state.takeWork('u2', 0, 10)).map(({ fresh }) => fresh)).toEqual([undefined, undefined]);
    });

    test('W6: an item that another update committed after a comparison called it new is entered as one that is known', async () => {
      const offers = [work('a', { fresh: true }), work('b', { fresh: true })];
      expect(await verdicts(on.state, listed('a', 'b'))).toEqual(['new', 'new']);
      await on.commit(replaced('a'));
      const entered = await on.state.enter(offers);
      expect(entered.map((one) => one.kind === 'entered' && (one.fresh ?? false))).toEqual([false, true]);
      expect((await on.state.takeWork('u1', 0, 10)).map(({ fresh }) => fresh ?? false)).toEqual([false, true]);
    });

    test('W2: what is wanted already at that version is known, whoever wants it', async () => {
      await on.state.enter([work('a')]);
      expect(await on.state.enter([work('a', { update: 'u2', seenAtMs: 2000 })])).toEqual([{ kind: 'known' }]);
      expect((await on.state.takeWork('u1', 0, 10)).length).toBe(1);
    });

    test('W3: a newer version takes the entry over, keeps the wish to reprocess, and stands at the end', async () => {
      await on.state.enter([work('a', { reprocess: true }), work('b')]);
      const [entered] = await on.state.enter([work('a', { update: 'u2', version: 'a@2', seenAtMs: 1000 })]);
      expect(entered).toMatchObject({ kind: 'tookOver', from: 'u1' });
      expect(await on.state.takeWork('u2', 0, 10)).toMatchObject([{ key: 'a', version: 'a@2', reprocess: true }]);
      expect((await on.state.takeWork('u2', 0, 10))[0]!.seq).toBeGreaterThan(
        (await on.state.takeWork('u1', 0, 10))[0]!.seq,
      );
    });

    test('W3: asking to reprocess the same version takes it over too', async () => {
      await on.state.enter([work('a')]);
      const [entered] = await on.state.enter([work('a', { update: 'u2', reprocess: true, seenAtMs: 2000 })]);
      expect(entered).toMatchObject({ kind: 'tookOver', from: 'u1' });
      expect(await on.state.enter([work('a', { update: 'u3', seenAtMs: 3000 })])).toEqual([{ kind: 'known' }]);
    });

    test('W4: an offer from an older look at the source changes nothing', async () => {
      await on.state.enter([work('a', { version: 'a@2', seenAtMs: 5000 })]);
      expect(await on.state.enter([work('a', { update: 'u2', seenAtMs: 4999 })])).toEqual([{ kind: 'older' }]);
    });

    test('W5: an item that was seen after a listing began is not deleted by it', async () => {
      await on.commit(replaced('a'));
      const { seenAtMs } = (await on.state.item('docs', 'a'))!;
      const remove = (key: string, at: number) =>
        work(key, { action: 'delete', version: '', update: 'u2', seenAtMs: at });
      expect(await on.state.enter([remove('a', seenAtMs)])).toEqual([{ kind: 'older' }]);
      expect(await on.state.enter([remove('a', seenAtMs + 1)])).toMatchObject([{ kind: 'entered' }]);
      expect(await on.state.enter([remove('unknown', seenAtMs + 1)])).toEqual([{ kind: 'known' }]);
    });

    test('work of updates that are over goes to the one that adopts it: losses counted, deletes dropped, order kept', async () => {
      await on.commit(replaced('gone'));
      const later = (await on.state.nowMs()) + 1000;
      await on.state.enter([
        work('b'),
        work('a', { update: 'u2' }),
        work('open', { update: 'u3' }),
        work('gone', { action: 'delete', version: '', seenAtMs: later }),
        work('other', { source: 'tickets' }),
      ]);
      await on.state.startWork([{ source: 'docs', key: 'a', update: 'u2' }]);
      await on.reopen();
      expect(await on.state.adoptWork('docs', 'u9', ['u3', 'u9'])).toBe(2);
      expect((await on.state.takeWork('u9', 0, 10)).map(({ key, losses }) => [key, losses])).toEqual([
        ['b', 0],
        ['a', 1],
      ]);
      expect(await on.state.countWork({ source: 'docs' })).toBe(3);
      expect(await on.state.countWork({ update: 'u1' })).toBe(1);
    });

    test('who stopped working on an entry before the process died is not blamed for that', async () => {
      await on.state.enter([work('a'), work('b')]);
      const [a, b] = ['a', 'b'].map((key) => ({ source: 'docs', key, update: 'u1' })) as [WorkRef, WorkRef];
      await on.state.startWork([a, b]);
      await on.state.restWork([a, { ...b, update: 'another' }]);
      await on.reopen();
      await on.state.adoptWork('docs', 'u2', ['u2']);
      expect((await on.state.takeWork('u2', 0, 10)).map(({ key, losses }) => [key, losses])).toEqual([
        ['a', 0],
        ['b', 1],
      ]);
    });

    test('dropped entries are gone, those of other updates stay', async () => {
      await on.state.enter([work('a'), work('b', { update: 'u2' })]);
      await on.state.dropWork('u1', [
        { source: 'docs', key: 'a' },
        { source: 'docs', key: 'b' },
      ]);
      expect(await on.state.countWork({})).toBe(1);
    });

    test('a run takes off the entry that it did, not a later one of the same update: what was listed may be missing by now', async () => {
      const runs: ((seq: number) => Promise<unknown>)[] = [
        (seq) => on.commit({ ...replaced('a'), settles: 'u1', settlesSeq: seq }),
        (seq) => on.commit({ ...failed('a', { token: token(2) }), settles: 'u1', settlesSeq: seq }),
        (seq) => on.commit({ ...removed('a', { token: token(3) }), settles: 'u1', settlesSeq: seq }),
        (seq) => on.state.dropWork('u1', [{ source: 'docs', key: 'a', seq }]),
      ];
      for (const [index, run] of runs.entries()) {
        await on.state.enter([work('a', { version: `a@${index}`, seenAtMs: 1000 + index })]);
        const [first] = await on.state.takeWork('u1', 0, 10);
        await on.state.enter([work('a', { version: 'newer', seenAtMs: 2000 })]);
        await run(first!.seq);
        const [later] = await on.state.takeWork('u1', 0, 10);
        expect(later, `${index}`).toMatchObject({ version: 'newer' });
        await on.state.dropWork('u1', [{ source: 'docs', key: 'a', seq: later!.seq }]);
        expect(await on.state.countWork({})).toBe(0);
      }
    });

    test('quarantined items are released by key, by source or all', async () => {
      const quarantined = (key: string) => failed(key, { status: 'quarantined', losses: 3 });
      await on.commit(...['a/1', 'b', 'c'].map(quarantined));
      expect(await on.state.release('docs', ['a/1', 'unknown'])).toBe(1);
      expect(await on.state.item('docs', 'a/1')).toMatchObject({ status: 'failed', losses: 0 });
      expect(await on.state.release('tickets')).toBe(0);
      expect(await on.state.release(undefined)).toBe(2);
    });
  });
}
