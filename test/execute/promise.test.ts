// The promise of design §4, with numbers: nothing gates a newer change, not even the first index of its own source. Real dispatcher, tree, triggers,
// state and target; 2,000 items of 10 ms on 8 slots are 2.5 s of work, on a clock that a test moves.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Whole } from './whole.ts';
import { counted } from './world.ts';

const ITEMS = 2_000;
const ITEM_MS = 10;
/** A run waits for a slot, is executed and is committed: each costs at most one slot time; one more for a run that must end first. */
const FEW_SLOT_TIMES_MS = 4 * ITEM_MS;

const name = (index: number): string => `file-${String(index).padStart(4, '0')}`;

describe('during the first index of a source of 2,000 slow items', () => {
  let whole: Whole;
  const slow = (): void => {
    whole.work.onCall = () => new Promise<void>((resolve) => void whole.clock.after(ITEM_MS, resolve));
  };
  const fill = (target: Whole): void => {
    for (let index = 0; index < ITEMS; index += 1) target.source.write(name(index), `text of ${index}`);
  };
  const saw = (key: string): void => {
    whole.source.watching?.([{ key, kind: 'unknown', seenAtMs: whole.clock.nowMs() }]);
  };
  const edit = (key: string, text: string): void => {
    whole.source.write(key, text);
    saw(key);
  };
  const rowsOf = async (key: string): Promise<string | undefined> => {
    const item = await whole.state.item('docs', key);
    return item === undefined ? undefined : whole.text(key);
  };
  /** How long a change takes to be in the target. */
  const freshness = (key: string, text: string | undefined): Promise<number> =>
    whole.until(async () => {
      const item = await whole.state.item('docs', key);
      if (text === undefined) return item === undefined;
      if (item?.version !== whole.source.items.get(key)?.version) return false;
      return (await whole.text(key)) === text;
    }, FEW_SLOT_TIMES_MS);

  beforeEach(async () => {
    whole = new Whole({ slots: 8, mode: 'Watch' });
    fill(whole);
    slow();
    await whole.start();
    whole.triggers.start();
    await whole.until(async () => (await whole.state.extent('docs')).items >= 200, 2_000);
  });

  afterEach(() => whole.state.close());

  test('a change to a file that still waits is in the target after a few slot times', async () => {
    expect(await rowsOf(name(1_999))).toBeUndefined();
    edit(name(1_999), 'text that changed');
    expect(await freshness(name(1_999), 'text that changed')).toBeLessThanOrEqual(FEW_SLOT_TIMES_MS);
  });

  test('a change to a file that is done already is', async () => {
    edit(name(3), 'text that changed');
    expect(await freshness(name(3), 'text that changed')).toBeLessThanOrEqual(FEW_SLOT_TIMES_MS);
  });

  test('a change to a file that is running is: the running run is not interrupted, the newer one follows it', async () => {
    const calls = whole.work.calls.length;
    await whole.until(() => whole.work.calls.length > calls, 100);
    const running = whole.work.calls.at(-1)!;
    expect(await rowsOf(running)).toBeUndefined();
    edit(running, 'text that changed');
    expect(await freshness(running, 'text that changed')).toBeLessThanOrEqual(FEW_SLOT_TIMES_MS);
  });

  test('a new file is', async () => {
    edit('new', 'text of the new one');
    expect(await freshness('new', 'text of the new one')).toBeLessThanOrEqual(FEW_SLOT_TIMES_MS);
  });

  test('a removed file is gone, one that was done and one that still waits', async () => {
    whole.source.remove(name(5));
    saw(name(5));
    expect(await freshness(name(5), undefined)).toBeLessThanOrEqual(FEW_SLOT_TIMES_MS);
    whole.source.remove(name(1_998));
    saw(name(1_998));
    await whole.idle(10_000);
    expect(await rowsOf(name(1_998))).toBeUndefined();
  });

  test('all of them at once: the end equals a clean run, the cycle counts what others took over, and nothing is left', async () => {
    edit(name(1_999), 'text one');
    edit(name(3), 'text two');
    edit(whole.work.calls.at(-1)!, 'text three');
    edit('new', 'text four');
    for (const key of [name(5), name(1_998)]) {
      whole.source.remove(key);
      saw(key);
    }
    await whole.idle(10_000);
    const clean = new Whole({ slots: 64 }, whole.source);
    await clean.start();
    clean.triggers.start();
    await clean.idle(10_000);
    expect(await whole.texts()).toEqual(await clean.texts());
    expect(await whole.target.scan('', 10_000)).toEqual(await clean.target.scan('', 10_000));
    await clean.state.close();
    expect(await whole.state.countWork({})).toBe(0);
    expect(whole.dispatcher.liveRuns).toBe(1);
    const cycle = whole.ended.find(({ kind }) => kind === 'cycle')!;
    expect(cycle.ending.result).toBe('Succeeded');
    expect(cycle.ending.counts.superseded).toBe(2);
    expect(Object.values(cycle.ending.counts).reduce((sum, count) => sum + count, 0)).toBe(ITEMS);
  });

  test('a restart in the middle goes on from the work list, and nothing is processed twice', async () => {
    const executing = new Set(whole.work.calls.slice(-8));
    const before = whole.work.calls.length;
    const committed = (await whole.state.extent('docs')).items;
    await whole.restart();
    whole.triggers.start();
    await whole.idle(10_000);
    const twice = whole.work.calls.filter((key, at) => whole.work.calls.indexOf(key) !== at);
    expect(twice.every((key) => executing.has(key))).toBe(true);
    expect(whole.work.calls.length - before).toBe(ITEMS - committed);
    expect((await whole.state.extent('docs')).items).toBe(ITEMS);
    expect(counted({ kind: '', counts: whole.ended[0]!.ending.counts })).toEqual({
      unchanged: committed,
      added: ITEMS - committed,
    });
  });
});
