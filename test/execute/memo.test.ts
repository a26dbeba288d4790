// What is computed again and what is not: embedding calls spent on edits, moves, branch switches, failures and outages.
import { beforeEach, describe, expect, test } from 'vitest';
import { StepError } from '../../runner/sdk/index.ts';
import { counted, EmbedStep, LinesStep, ReadStep, WorkStep, World } from './world.ts';

describe('embedding calls', () => {
  let world: World;
  let embed: EmbedStep;
  let after: WorkStep;

  const plan = (model: string): void => {
    embed = new EmbedStep(model);
    after = new WorkStep('after/1');
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'lines', step: new LinesStep() },
      { verb: 'embed', step: embed },
      { verb: 'after', step: after },
      { verb: 'export', target: 'rows' },
    ];
  };
  const memoEntries = async (): Promise<number> => (await world.state.sizes()).memoEntries;

  beforeEach(async () => {
    world = new World();
    plan('m1');
    await world.start();
    world.source.write('a', 'one\ntwo');
    world.source.write('b', 'three');
    await world.cycle();
    expect(embed.computed.length).toBe(3);
    embed.computed = [];
    return () => world.state.close();
  });

  test('F15: a committed vector is stored once, in its row', async () => {
    expect(await memoEntries()).toBe(0);
  });

  test('only the chunk that changed is embedded, wherever the others moved', async () => {
    world.source.write('a', 'zero\ntwo\none');
    await world.cycle();
    expect(embed.computed).toEqual(['zero']);
  });

  test('a chunk that moved to another item is not embedded again', async () => {
    world.source.write('c', 'three\nfour');
    await world.cycle();
    expect(embed.computed).toEqual(['four']);
  });

  test('F12: another model embeds every chunk once more, and no old vector stays', async () => {
    plan('m2');
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ reprocessed: 2 });
    expect(embed.computed.length).toBe(3);
    const identities = [...world.target.rows.values()].map(({ element }) => element.vector?.[1]);
    expect(new Set(identities)).toEqual(new Set(['embed/m2'.length]));
  });

  test('F13: a setting that changes the result runs the items again, and the vectors that it leaves alone stay', async () => {
    world.steps = world.steps.map((step) =>
      step.verb === 'after' ? { verb: 'after', step: new WorkStep('after/2') } : step,
    );
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ reprocessed: 2 });
    expect(embed.computed).toEqual([]);
  });

  test('F4: switching a branch embeds only what differs, and switching back embeds nothing', async () => {
    const main = new Map(world.source.items);
    world.source.write('a', 'one\nbranch');
    world.source.remove('b');
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1, deleted: 1 });
    expect(embed.computed).toEqual(['branch']);
    expect(world.target.texts()).toEqual({ a: ['one', 'branch'] });
    embed.computed = [];
    world.source.items.clear();
    for (const [key, item] of main) world.source.items.set(key, item);
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1, added: 1 });
    expect(embed.computed).toEqual([]);
    expect(world.target.texts()).toEqual({ a: ['one', 'two'], b: ['three'] });
    expect([...world.target.rows.values()].every(({ element }) => element.vector !== undefined)).toBe(true);
    expect(await memoEntries()).toBe(1);
  });

  test('F15: vectors of removed items go by age', async () => {
    world.source.remove('a');
    await world.cycle();
    expect(await memoEntries()).toBe(2);
    world.clock.advance(8 * 24 * 3_600_000);
    await world.cycle();
    expect(await memoEntries()).toBe(0);
  });

  test('what an attempt computed before it failed is not computed again', async () => {
    after.onCall = () => {
      throw new StepError('invalid', 'no');
    };
    world.source.write('c', 'four\nfive');
    expect(counted(await world.cycle())).toEqual({ failed: 1, unchanged: 2 });
    expect(embed.computed).toEqual(['four', 'five']);
    after.onCall = () => {};
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ added: 1, unchanged: 2 });
    expect(embed.computed).toEqual(['four', 'five']);
    expect(await memoEntries()).toBe(0);
  });

  test('a retry of the step computes only what is missing', async () => {
    let fails = 1;
    embed.onCompute = (text) => {
      if (text === 'five' && fails-- > 0) throw new StepError('transient', 'reset');
    };
    world.source.write('c', 'four\nfive');
    const ended = world.cycle();
    await world.clock.waiting(0);
    world.clock.advance(0);
    await ended;
    expect(embed.computed).toEqual(['four', 'five']);
  });

  test('F34: a target that is away costs no call when it is back', async () => {
    world.target.onApply = () => {
      throw new StepError('transient', 'the target is away', { retryAfterMs: 60_000 });
    };
    world.source.write('c', 'four');
    const ended = world.cycle();
    while (world.desk.parked.length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    expect(embed.computed).toEqual(['four']);
    world.target.onApply = () => {};
    world.desk.parked.pop()!.resume();
    expect(counted(await ended)).toEqual({ added: 1, unchanged: 2 });
    expect(embed.computed).toEqual(['four']);
  });

  test('F19, F37: a full reprocess computes everything once, writes each row once, and brings no deleted row back', async () => {
    world.source.remove('b');
    await world.cycle();
    const ids = [...world.target.rows.keys()].sort();
    const { writes } = world.target;
    const { ended } = world.desk.root({ kind: 'pipeline', reprocess: true });
    expect(counted(await ended)).toEqual({ reprocessed: 1 });
    expect(embed.computed).toEqual(['one', 'two']);
    expect(world.target.writes - writes).toBe(2);
    expect([...world.target.rows.keys()].sort()).toEqual(ids);
    expect(world.target.texts()).toEqual({ a: ['one', 'two'] });
  });
});
