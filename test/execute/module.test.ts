// Functions of user code in the engine: what they may do, what is remembered, and what becomes of components that they mount.
import { beforeEach, describe, expect, test } from 'vitest';
import {
  batched,
  type Component,
  declareRow,
  type Element,
  type ModuleFunction,
  type MountHandle,
  map,
  memo,
  mount,
  mountEach,
  mountEachStream,
  RetryWithSmallerBatch,
  rateLimit,
  StepError,
  useMount,
  useMountEach,
} from '../../runner/sdk/user.ts';
import { moduleOf } from './user-module.ts';
import { counted, Gate, ReadStep, World } from './world.ts';

/** Lines of what a step got. */
const linesOf = (elements: readonly Element[]): string[] =>
  elements.flatMap(({ text = '' }) => text.split('\n')).filter((line) => line !== '');

const pass: ModuleFunction = (elements) => elements;

describe('a module', () => {
  let world: World;
  const calls: string[] = [];

  /** The world with the function as its step; `more`: what the module exports besides. */
  const open = async (
    entry: ModuleFunction,
    more: object = {},
    options: { identity?: string; attempts?: number } = {},
  ) => {
    const { identity = 'm1', attempts = 1 } = options;
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      {
        verb: 'module',
        module: moduleOf({ entry, ...more }, identity),
        entry: 'entry',
        settings: { loud: true },
        retry: { attempts },
        timeoutMs: 1_000,
      },
      { verb: 'export', target: 'rows' },
    ];
    await world.restart();
  };

  /** Texts of rows, sorted. */
  const rows = (): string[] => [...world.target.rows.values()].map(({ element }) => element.text ?? '').sort();
  const failure = async (): Promise<string | undefined> => {
    expect(counted(await world.cycle())).toEqual({ failed: 1 });
    return (await world.state.item('docs', 'a'))?.error;
  };

  beforeEach(async () => {
    world = await World.open({ slots: 1 });
    world.source.write('a', 'one\ntwo');
    calls.length = 0;
    return () => world.state.close();
  });

  test('makes elements of elements, and knows its item, its settings and the content', async () => {
    await open(async (elements, { item, settings, content }) => [
      { text: `${item.key} ${JSON.stringify(settings)} ${(await content()).byteLength} ${elements.length}` },
    ]);
    expect(counted(await world.cycle())).toEqual({ added: 1 });
    expect(rows()).toEqual(['a {"loud":true} 7 1']);
  });

  test('F13: an edit of its code runs every item again, and nothing else does', async () => {
    await open(pass);
    await world.cycle();
    await open(pass);
    expect(counted(await world.cycle())).toEqual({ unchanged: 1 });
    await open(() => [{ text: 'edited' }], {}, { identity: 'm2' });
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1 });
    expect(rows()).toEqual(['edited']);
  });

  test('a failure without a class names the line of user code; a StepError keeps its class and is tried again if that helps', async () => {
    await open(() => {
      throw new TypeError('x is undefined');
    });
    expect(await failure()).toBe('module: TypeError: x is undefined\n  at work (steps.ts:1:2)');
    await open(
      (elements) => {
        calls.push('try');
        if (calls.length < 3) throw new StepError('transient', 'busy');
        return elements;
      },
      {},
      { identity: 'm2', attempts: 3 },
    );
    const ended = world.cycle();
    for (const _ of [1, 2]) await world.clock.advanceAsync(10_000);
    expect(counted(await ended)).toEqual({ added: 1 });
    expect(calls.length).toBe(3);
  });

  test('what is no element is refused before it reaches a target', async () => {
    await open((() => [{ text: 7 }]) as unknown as ModuleFunction);
    expect(await failure()).toContain('what "entry" returns as an element has a "text" that is no string');
  });

  test('a memoised function is computed once for an input, over items, runs and edits, until its version changes', async () => {
    const shout = (version: string) =>
      memo(
        async (line: string) => {
          calls.push(line);
          return { loud: line.toUpperCase(), weights: new Float32Array([line.length]) };
        },
        { name: 'shout', version },
      );
    const entry =
      (version: string): ModuleFunction =>
      (elements) =>
        map(linesOf(elements), async (line) => {
          const { loud, weights } = await shout(version)(line);
          return { text: `${loud} ${weights[0]}` };
        });
    world.source.write('a', 'one\ntwo\none');
    await open(entry('1'));
    await world.cycle();
    expect(rows()).toEqual(['ONE 3', 'ONE 3', 'TWO 3']);
    expect(calls).toEqual(['one', 'two']);
    world.source.write('a', 'one\nthree');
    await open(entry('1'), {}, { identity: 'm2' });
    await world.cycle();
    expect(calls).toEqual(['one', 'two', 'three']);
    await open(entry('2'), {}, { identity: 'm3' });
    await world.cycle();
    expect(calls).toEqual(['one', 'two', 'three', 'one', 'three']);
    expect(rows()).toEqual(['ONE 3', 'THREE 5']);
  });

  test('equal arguments of a memoised function are one, however they were built; what is no plain data needs a key', async () => {
    const count = memo(async (_: unknown) => calls.push('computed'), { name: 'count', version: '1' });
    const byName = memo(async (one: Map<string, string>) => calls.push([...one.keys()].join()), {
      name: 'by-name',
      version: '1',
      key: (one) => [...one.keys()],
    });
    await open(async () => {
      await count({ text: 'abc', at: new Date(7), vector: Float32Array.of(1, 2) });
      await count({ vector: Float32Array.of(1, 2), at: new Date(7), text: 'abc\u20ac'.slice(0, 3) });
      await byName(new Map([['k', 'v']]));
      await byName(new Map([['k', 'w']]));
      await count(new Map());
      return [];
    });
    expect(await failure()).toContain('the memoised function "count" got an argument that is no plain data');
    expect(calls).toEqual(['computed', 'k']);
  });

  test('a failure of a memoised function is not remembered', async () => {
    const once = memo(
      async (line: string) => {
        calls.push(line);
        if (calls.length === 1) throw new StepError('invalid', 'not yet');
        return line;
      },
      { name: 'once', version: '1' },
    );
    await open(async (elements) => [{ text: await once(linesOf(elements)[0] ?? '') }]);
    expect(await failure()).toBe('module: not yet');
    expect(counted(await world.cycle())).toEqual({ added: 1 });
    expect(calls).toEqual(['one', 'one']);
  });

  test('calls of a batched function gather, over the runs of a runner, and one that is too large is halved', async () => {
    const sizes: number[] = [];
    const measure = batched(async (items: readonly string[]) => {
      sizes.push(items.length);
      if (items.length > 2) throw new RetryWithSmallerBatch();
      return items.map((item) => item.length);
    });
    world.source.write('a', 'a\nbb\nccc\ndddd\neeeee');
    await open((elements) => map(linesOf(elements), async (line) => ({ text: `${await measure(line)}` })));
    await world.cycle();
    expect(rows()).toEqual(['1', '2', '3', '4', '5']);
    expect(sizes).toEqual([1, 4, 2, 2]);
  });

  test('a rate is kept to, first come first served', async () => {
    const pace = rateLimit(2, { windowSeconds: 0 });
    await open(async (elements) => {
      for (const line of linesOf(elements)) {
        await pace();
        calls.push(line);
      }
      return elements;
    });
    const ended = world.cycle();
    await world.clock.waiting(500);
    expect(calls).toEqual(['one']);
    await world.clock.advanceAsync(500);
    await ended;
    expect(calls).toEqual(['one', 'two']);
  });

  test('the functions of the SDK refuse to be called outside of a run, and say so', async () => {
    expect(() => declareRow('rows', {})).toThrow('declareRow was called outside of a run');
    await expect(mount(() => 1, 'k', null)).rejects.toThrow('mount was called outside of a run');
  });

  describe('that mounts', () => {
    const line: Component<string, number> = (text) => {
      calls.push(text);
      declareRow('rows', { text: `line ${text}` });
      return text.length;
    };
    const entries = (elements: readonly Element[]) => linesOf(elements).map((text) => [text, text] as const);

    test('gets the values of its components in the order of their keys, on one slot, and their rows are there', async () => {
      await open(async (elements) => [{ text: `lengths ${(await useMountEach(line, entries(elements))).join(' ')}` }], {
        line,
      });
      world.source.write('a', 'three\none\ntwelve');
      expect(counted(await world.cycle())).toEqual({ added: 1 });
      expect(rows()).toEqual(['lengths 5 3 6', 'line one', 'line three', 'line twelve']);
    });

    test('components that are not mounted this time go with their rows, and so do all when the item goes', async () => {
      await open(
        async (elements) => {
          await mountEach(line, entries(elements));
          return [];
        },
        { line },
      );
      await world.cycle();
      world.source.write('a', 'two\nthree');
      await world.cycle();
      expect(rows()).toEqual(['line three', 'line two']);
      expect([...(await world.state.children('docs/a', '', 10))].sort()).toEqual(['docs/a/three', 'docs/a/two']);
      world.source.remove('a');
      expect(counted(await world.cycle())).toEqual({ deleted: 1 });
      expect(rows()).toEqual([]);
    });

    test('F24: with memo a known input costs no run and gives its value of last time, until the code changes', async () => {
      const entry: ModuleFunction = async (elements) => {
        const values = await useMountEach(line, entries(elements), { memo: true });
        return [{ text: `lengths ${values.join(' ')}` }];
      };
      await open(entry, { line });
      await world.cycle();
      world.source.write('a', 'one\nfour');
      await world.cycle();
      expect(calls).toEqual(['one', 'two', 'four']);
      expect(rows()).toEqual(['lengths 3 4', 'line four', 'line one']);
      await open(entry, { line }, { identity: 'm2' });
      await world.cycle();
      expect(calls).toEqual(['one', 'two', 'four', 'one', 'four']);
    });

    test('a component mounts components of its own, at any depth, on one slot', async () => {
      const chain: Component<number, number> = async (depth) => {
        declareRow('rows', { text: `depth ${depth}` });
        return depth === 0 ? 0 : 1 + (await useMount(chain, 'below', depth - 1));
      };
      await open(async () => [{ text: `${await useMount(chain, 'top', 4)}` }], { chain });
      await world.cycle();
      expect(rows()).toEqual(['4', 'depth 0', 'depth 1', 'depth 2', 'depth 3', 'depth 4']);
    });

    test('a stream is read as components are mounted', async () => {
      async function* stream(): AsyncGenerator<readonly [string, string]> {
        for (const text of ['x', 'y']) yield [text, text];
      }
      await open(
        async () => {
          const group = await mountEachStream(line, stream());
          await group.ready();
          return [{ text: `${group.size} rows: ${world.target.rows.size}` }];
        },
        { line },
      );
      await world.cycle();
      expect(rows()).toEqual(['2 rows: 2', 'line x', 'line y']);
    });

    test('refuses a key twice, a component that is not exported, and an unknown target', async () => {
      await open(
        async () => {
          await mount(line, 'k', 'x');
          await mount(line, 'k', 'y');
          return [];
        },
        { line },
      );
      expect(await failure()).toContain('the key "k" is mounted already');
      await open(async () => [{ text: `${await useMount(line, 'k', 'x')}` }], {}, { identity: 'm2' });
      expect(await failure()).toContain('steps.ts must export the component that is mounted as "k"');
      await open(() => declareRow('elsewhere', {}) as never, {}, { identity: 'm3' });
      expect(await failure()).toContain('no target "elsewhere"; it has "rows"');
    });

    test('nothing can be mounted or declared in a memoised function, a batch, or while a card is held', async () => {
      const why: string[] = [];
      const note = async (caller: string): Promise<number> => {
        await mount(line, caller, caller).catch((error: Error) => why.push(error.message));
        return 1;
      };
      const remembered = memo(note, { name: 'note', version: '1' });
      const gathered = batched((items: readonly string[]) => Promise.all(items.map(note)));
      await open(
        async (elements, { withCard }) => {
          await remembered('memo');
          await gathered('batch');
          await withCard(() => note('card'));
          return elements;
        },
        { line },
      );
      await world.cycle();
      expect(why.map((message) => message.split(':')[0])).toEqual([
        'mount cannot be called in a memoised function',
        'mount cannot be called in a batched function',
        'mount cannot be called in a body that holds a card',
      ]);
    });

    test('a component that failed with nobody asking fails the item, which keeps its rows and is tried again', async () => {
      let isBroken = false;
      const fragile: Component<string, void> = (text) => {
        if (isBroken && text === 'two') throw new StepError('invalid', 'two is broken');
        declareRow('rows', { text });
      };
      await open(
        async (elements) => {
          await mountEach(fragile, entries(elements));
          return [{ text: 'parent' }];
        },
        { fragile },
      );
      await world.cycle();
      isBroken = true;
      world.source.write('a', 'one\ntwo\nthree');
      expect(await failure()).toBe('module: two is broken');
      expect(rows()).toEqual(['one', 'parent', 'three', 'two']);
      isBroken = false;
      expect(counted(await world.cycle())).toEqual({ reprocessed: 1 });
    });

    test('a failure that the code above handles ends with it, and the item runs again with the next cycle', async () => {
      let isBroken = true;
      const fragile: Component<null, string> = () => {
        if (isBroken) throw new StepError('invalid', 'broken');
        return 'whole';
      };
      await open(async () => [{ text: await useMount(fragile, 'k', null).catch((error: Error) => error.message) }], {
        fragile,
      });
      expect(counted(await world.cycle())).toEqual({ added: 1 });
      expect(rows()).toEqual(['broken']);
      isBroken = false;
      expect(counted(await world.cycle())).toEqual({ reprocessed: 1 });
      expect(rows()).toEqual(['whole']);
      expect(counted(await world.cycle())).toEqual({ unchanged: 1 });
    });

    test('a try that failed leaves no rows and no keys behind for the next one', async () => {
      await open(
        async (elements) => {
          const isFirst = calls.length === 0;
          declareRow('rows', { text: isFirst ? 'first try' : 'second try' });
          await mountEach(line, entries(elements));
          if (isFirst) throw new StepError('transient', 'once more');
          return [];
        },
        { line },
        { attempts: 2 },
      );
      const ended = world.cycle();
      await world.clock.advanceAsync(10_000);
      expect(counted(await ended)).toEqual({ added: 1 });
      expect(rows()).toEqual(['line one', 'line two', 'second try']);
    });

    test('time passes for the function only while it works, not while it waits for its components', async () => {
      const gate = new Gate(false);
      const slow: Component<string, string> = async (name) => {
        await gate.pass(name);
        return name;
      };
      await open(
        async (_, { signal }) => {
          const names = [await useMount(slow, 'first', 'first'), await useMount(slow, 'second', 'second')];
          await gate.pass('self');
          return [{ text: `${names.join(' ')} ${signal.aborted}` }];
        },
        { slow },
      );
      // Each component stays within the limit of a second, both together do not.
      const ended = world.cycle();
      for (const name of ['first', 'second']) {
        await gate.held(1);
        await world.clock.advanceAsync(700);
        gate.release(name);
      }
      await gate.held(1);
      gate.release('self');
      expect(counted(await ended)).toEqual({ added: 1 });
      expect(rows()).toEqual(['first second false']);

      world.source.write('a', 'other');
      const late = failure();
      for (const name of ['first', 'second']) {
        await gate.held(1);
        gate.release(name);
      }
      await gate.held(1);
      await world.clock.advanceAsync(1_000);
      expect(await late).toBe('module: "entry" did not end within 1000 ms of its own time');
    });

    test('what a function began to mount and did not wait for is mounted all the same, and is a part of the item', async () => {
      await open(
        (elements) => {
          for (const [key, input] of entries(elements)) void mount(line, key, input);
          return [];
        },
        { line },
      );
      expect(counted(await world.cycle())).toEqual({ added: 1 });
      expect(rows()).toEqual(['line one', 'line two']);
    });

    test('a call that outlives its function can mount nothing any more', async () => {
      const gate = new Gate(false);
      let late: Promise<MountHandle<number>> | undefined;
      await open(
        () => {
          late = gate.pass('late').then(() => mount(line, 'late', 'late'));
          return [];
        },
        { line },
      );
      await world.cycle();
      gate.open();
      await expect(late).rejects.toThrow('"entry" has ended already');
    });
  });
});
