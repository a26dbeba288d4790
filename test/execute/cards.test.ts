// Bodies that hold shares of cards, as the engine asks for them (G2, G6; C1 and C2 of runner/execute/cards.ts), and batches of one update.
import { describe, expect, test } from 'vitest';
import { CardDesk } from '../../runner/execute/cards.ts';
import type { CardGrant, UserFunction } from '../../runner/execute/index.ts';
import type { Uplink } from '../../runner/protocol/index.ts';
import { batchedCalls } from '../../runner/sdk/index.ts';
import { batched, currentGpuFraction, currentGpus, type ModuleFunction } from '../../runner/sdk/user.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { counted, ReadStep, World } from './world.ts';

const HALF: CardGrant = { cards: [0], milliShare: 500 };

function deskOf() {
  const said: string[] = [];
  const clock = new VirtualClock(0);
  const uplink: Partial<Uplink> = {
    askCard: (run, ask, milli) => said.push(`${run} asks ${ask} for ${milli}m`),
    cardReturned: (run, ask, bodyMs) => said.push(`${run} returns ${ask} after ${bodyMs} ms`),
  };
  return { said, clock, desk: new CardDesk(() => uplink as Uplink, clock) };
}

describe('the desk', () => {
  test('C1: a share that was held is returned once, with the time that its body had it', async () => {
    const { said, clock, desk } = deskOf();
    const held = desk.acquire(7, 500, new AbortController().signal);
    clock.advance(300);
    desk.granted(1, HALF);
    const { grant, release } = await held;
    clock.advance(40);
    release();
    expect(grant).toBe(HALF);
    expect(said).toEqual(['7 asks 1 for 500m', '7 returns 1 after 40 ms']);
  });

  test('C1 C2: a wish that is withdrawn is returned at once, and a grant that crosses it goes nowhere', async () => {
    const { said, desk } = deskOf();
    const abort = new AbortController();
    const held = desk.acquire(7, 500, abort.signal);
    abort.abort(new Error('cancelled'));
    desk.granted(1, HALF);
    await expect(held).rejects.toThrow('cancelled');
    expect(said).toEqual(['7 asks 1 for 500m', '7 returns 1 after 0 ms']);
  });

  test('a refusal is an error that no retry heals, and nothing is returned', async () => {
    const { said, desk } = deskOf();
    const held = desk.acquire(7, 2000, new AbortController().signal);
    desk.refused(1, 'too many');
    await expect(held).rejects.toMatchObject({ class: 'invalid', message: 'too many' });
    expect(said).toHaveLength(1);
  });
});

describe('batches that hold a card', () => {
  interface Call {
    readonly update: string;
  }

  test('G3: calls of one update gather by themselves, and a small one never waits for the batches of a large one', async () => {
    const bodies: { readonly items: readonly number[]; readonly update: string; readonly end: () => void }[] = [];
    const calls = batchedCalls<number, number, Call>(
      (items, { context }) =>
        new Promise((resolve) => {
          bodies.push({ items, update: context.update, end: () => resolve(items) });
        }),
      { gpu: true, maxSize: 3 },
    );
    const results = [1, 2, 3, 4, 5].map((item) => calls.call(item, { context: { update: 'big' } }));
    results.push(calls.call(100, { context: { update: 'small' } }));
    await settle();
    expect(bodies.map(({ items, update }) => [update, ...items])).toEqual([
      ['big', 1],
      ['big', 2, 3, 4],
      ['small', 100],
    ]);
    while (bodies.length > 0) {
      bodies.shift()?.end();
      await settle();
    }
    expect(await Promise.all(results)).toEqual([1, 2, 3, 4, 5, 100]);
  });
});

describe('user code', () => {
  /** A world of one runner with cards, whose module step has `gpu`. */
  async function worldOf(entry: ModuleFunction, gpuMilli: number, cards: number): Promise<World> {
    const world = await World.open({ slots: 4 });
    world.source.write('a', 'one');
    const module = {
      name: 'steps.ts',
      identity: 'm1',
      find: (name: string) => (name === 'entry' ? (entry as UserFunction) : undefined),
      nameOf: () => undefined,
      framesOf: () => [],
    };
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'module', module, entry: 'entry', retry: { attempts: 1 }, timeoutMs: 1_000, gpuMilli },
      { verb: 'export', target: 'rows' },
    ];
    await world.restart();
    world.desk.cards = cards;
    return world;
  }
  const textsOf = (world: World) => [...world.target.rows.values()].map(({ element }) => element.text);

  test('sees the cards and the fraction of a body that holds some, and none outside of it', async () => {
    const tell = (): string => `${currentGpus().join(',')} ${currentGpuFraction()}`;
    const world = await worldOf(
      async (_, { withCard }) => [{ text: `before ${tell()}` }, { text: await withCard(async () => tell()) }],
      500,
      4,
    );
    expect(counted(await world.cycle())).toEqual({ added: 1 });
    expect(textsOf(world)).toEqual(['before  0', '1 0.5']);
    expect(world.desk.returned).toHaveLength(1);
    await world.state.close();
  });

  test('a batched function with gpu holds one share for each batch', async () => {
    const gathered = batched(async (items: readonly number[]) => items.map((item) => `${item} on ${currentGpus()}`), {
      gpu: true,
    });
    const world = await worldOf(
      async () => (await Promise.all([1, 2, 3].map((item) => gathered(item)))).map((text) => ({ text })),
      1000,
      4,
    );
    await world.cycle();
    expect(textsOf(world).sort()).toEqual(['1 on 1', '2 on 2', '3 on 2']);
    expect(world.desk.returned).toHaveLength(2);
    await world.state.close();
  });

  test('a step that can never get its cards fails its item with the reason', async () => {
    const world = await worldOf(async (_, { withCard }) => withCard(async () => []), 1000, 0);
    expect(counted(await world.cycle())).toEqual({ failed: 1 });
    expect((await world.state.item('docs', 'a'))?.error).toContain('this runner has no cards');
    await world.state.close();
  });
});
