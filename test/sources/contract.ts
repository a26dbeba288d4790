// What every source must hold, run on each kind. A kind gives a world with items; the suite changes nothing in it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListedItem, Source } from '../../runner/execute/index.ts';
import { StepError } from '../../runner/sdk/index.ts';

export interface World {
  readonly source: Source;
  /** Items that the source must list, with their content; at least two, each longer than one byte. */
  readonly items: ReadonlyMap<string, string>;
  /** Keys of things in the same place that are no items. */
  readonly strangers: readonly string[];
  close(): Promise<void>;
}

export const MAX_BYTES = 1 << 20;
export const live = (): AbortSignal => new AbortController().signal;

/** Everything that a source lists, in the order of the listing. */
export async function listAll(source: Source, signal: AbortSignal = live()): Promise<ListedItem[]> {
  const items: ListedItem[] = [];
  for await (const batch of source.list({ signal })) items.push(...batch);
  return items;
}

export const keysOf = async (source: Source): Promise<string[]> => (await listAll(source)).map((item) => item.key);

/** Text of an item; undefined: it is gone. */
export async function textOf(source: Source, key: string, version = ''): Promise<string | undefined> {
  const content = await source.read(key, version, { signal: live(), maxBytes: MAX_BYTES });
  return content && Buffer.from(content.bytes).toString('utf8');
}

/** The error of a promise that must reject. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was expected to fail and did not');
}

export function sourceContract(kind: string, open: () => Promise<World>): void {
  describe(`every source: ${kind}`, () => {
    let world: World;
    beforeEach(async () => {
      world = await open();
    });
    afterEach(async () => await world.close());

    it('lists exactly its items, each key once, in batches of at most 1,000', async () => {
      const keys: string[] = [];
      for await (const batch of world.source.list({ signal: live() })) {
        expect(batch.length).toBeLessThanOrEqual(1_000);
        keys.push(...batch.map((item) => item.key));
      }
      expect(keys.toSorted()).toEqual([...world.items.keys()].toSorted());
    });

    it('lists the same versions while nothing changes', async () => {
      expect(await listAll(world.source)).toEqual(await listAll(world.source));
    });

    it('reads what it lists, at the version that it listed, and stat agrees with both', async () => {
      for (const item of await listAll(world.source)) {
        const content = await world.source.read(item.key, item.version, { signal: live(), maxBytes: MAX_BYTES });
        expect(Buffer.from(content?.bytes ?? []).toString('utf8')).toBe(world.items.get(item.key));
        expect(content?.version).toBe(item.version);
        expect(await world.source.stat(item.key, live())).toEqual(item);
      }
    });

    it('says of a key that is no item that it is gone, in stat and in read', async () => {
      for (const key of [...world.strangers, 'no/such/item', '', '..', '../x', '/etc/passwd', 'a\0b', '\uFFFDzz']) {
        expect([key, await world.source.stat(key, live())]).toEqual([key, undefined]);
        expect([key, await textOf(world.source, key)]).toEqual([key, undefined]);
      }
    });

    it('refuses an item above the bound as too large, and names it', async () => {
      const [key = ''] = world.items.keys();
      const error = await rejection(world.source.read(key, '', { signal: live(), maxBytes: 1 }));
      expect(error).toBeInstanceOf(StepError);
      expect(error).toMatchObject({ class: 'too-large', message: expect.stringContaining(JSON.stringify(key)) });
    });

    it('an abort ends a listing with the reason of the signal, before the first batch and between batches', async () => {
      const before = AbortSignal.abort(new Error('enough'));
      await expect(listAll(world.source, before)).rejects.toThrow('enough');
      const stop = new AbortController();
      const listing = world.source.list({ signal: stop.signal })[Symbol.asyncIterator]();
      await listing.next();
      stop.abort(new Error('enough'));
      await expect(listing.next()).rejects.toThrow('enough');
      expect((await listAll(world.source)).length).toBe(world.items.size);
    });

    it('an aborted stat and read reject with the reason of the signal', async () => {
      const [key = ''] = world.items.keys();
      const signal = AbortSignal.abort(new Error('enough'));
      await expect(world.source.stat(key, signal)).rejects.toThrow('enough');
      await expect(world.source.read(key, '', { signal, maxBytes: MAX_BYTES })).rejects.toThrow('enough');
    });

    it('two listings at once are both whole', async () => {
      const [a, b] = await Promise.all([listAll(world.source), listAll(world.source)]);
      expect(a.length).toBe(world.items.size);
      expect(b).toEqual(a);
    });

    it('a listing that is left early leaves nothing behind', async () => {
      for await (const _batch of world.source.list({ signal: live() })) break;
      expect((await listAll(world.source)).length).toBe(world.items.size);
    });
  });
}
