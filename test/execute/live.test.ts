// Components that live on after the run that mounted them (Z1 to Z4, W1 to W3, O1 to O4), under the real dispatcher, tree and state, on a clock that
// the test moves.
import { afterEach, describe, expect, test } from 'vitest';
import type { PlannedStep } from '../../runner/execute/index.ts';
import {
  autoRefresh,
  type Component,
  declareRow,
  type LiveChange,
  type LiveOperator,
  type LiveOutcome,
  liveComponent,
  liveView,
  type ModuleFunction,
  type MountEntry,
  mount,
  mountEach,
  mountEachLive,
  mountLive,
  progress,
} from '../../runner/sdk/user.ts';
import { moduleOf, moduleStep } from './user-module.ts';
import { Whole, type WholeOptions } from './whole.ts';
import { Gate, ReadStep } from './world.ts';

let whole: Whole;

/** A process whose Pipeline reads each item and calls `entry`; `exported`: what else the module exports. */
async function open<Exported extends { readonly entry: ModuleFunction }>(
  exported: Exported,
  options: Partial<WholeOptions> = {},
) {
  const steps: PlannedStep[] = [{ verb: 'read', step: new ReadStep() }, moduleStep(moduleOf(exported))];
  whole = new Whole({ slots: 4, steps, ...options });
  whole.source.write('a', 'text');
  await whole.start();
}

/** One cycle of the source, to its end. */
async function cycle(): Promise<object> {
  whole.triggers.want({ trigger: 'test' });
  await whole.idle(1_000);
  return whole.ended.at(-1)!.ending.counts;
}

/** Texts of all rows, sorted: without a vector or words they are found by what every one of them holds. */
const texts = async (): Promise<string[]> =>
  Object.values(await whole.texts())
    .flat()
    .sort();

const later = (ms: number): Promise<void> => whole.clock.advanceAsync(ms, 4);

/** Entries that a test edits, as a view. */
class Shelf {
  readonly entries = new Map<string, string>();
  scans = 0;
  watchers = 0;
  say: (changes: readonly LiveChange<string>[]) => void = () => {};
  break: (error: Error) => void = () => {};

  async *scan(): AsyncGenerator<MountEntry<string>> {
    this.scans += 1;
    yield* [...this.entries];
  }

  async *watch(_input: unknown, { signal }: Pick<LiveOperator, 'signal'>): AsyncGenerator<LiveChange<string>[]> {
    this.watchers += 1;
    const queue: LiveChange<string>[][] = [[]];
    let failure: Error | undefined;
    let wake = (): void => {};
    this.say = (changes) => {
      queue.push([...changes]);
      wake();
    };
    this.break = (error) => {
      failure = error;
      wake();
    };
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted) {
      if (failure !== undefined) throw failure;
      const batch = queue.shift();
      if (batch === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      else yield batch;
    }
  }

  /** Sets an entry and says so. */
  async set(key: string, input: string): Promise<void> {
    this.entries.set(key, input);
    this.say([{ key, input }]);
    await later(0);
  }
}

afterEach(() => whole.state.close());

describe('autoRefresh', () => {
  let reading = 'text 1';
  let runs = 0;
  const sensor: Component<string, string> = (input) => {
    runs += 1;
    if (reading === 'broken') throw new Error('no reading');
    for (const line of reading.split('\n')) declareRow('rows', { text: `${input} ${line}` });
    return reading;
  };
  const entry: ModuleFunction = async () => {
    const handle = await autoRefresh(sensor, 'sensor', 'mast', { everySeconds: 30 });
    return [{ text: `first: ${await handle.ready()}` }];
  };

  const fresh = (options: Partial<WholeOptions> = {}): Promise<void> => {
    reading = 'text 1';
    runs = 0;
    return open({ entry, sensor }, options);
  };

  test('runs in the run that mounts it, and again each time that its interval passed since it ended', async () => {
    await fresh();
    expect(await cycle()).toMatchObject({ added: 1, failed: 0 });
    expect(await texts()).toEqual(['mast text 1']);
    reading = 'text 2\ntext 3';
    await later(29_999);
    expect(runs).toBe(1);
    await later(1);
    expect(await texts()).toEqual(['mast text 2', 'mast text 3']);
    reading = 'text 4';
    await later(30_000);
    expect(await texts(), 'what it does not declare any more is gone').toEqual(['mast text 4']);
    expect(
      whole.ended.map(({ kind }) => kind),
      'its updates are its own',
    ).toEqual(['cycle']);
  });

  test('a cycle that fails keeps the rows, and the next one comes all the same', async () => {
    await fresh();
    await cycle();
    reading = 'broken';
    await later(30_000);
    expect(await texts()).toEqual(['mast text 1']);
    reading = 'text 2';
    await later(30_000);
    expect(await texts()).toEqual(['mast text 2']);
  });

  test('Z1: after a restart it goes on at once though its item is unchanged, and only one of it', async () => {
    await fresh();
    await cycle();
    reading = 'text 2';
    await whole.restart();
    expect(await cycle()).toMatchObject({ unchanged: 1, added: 0, reprocessed: 0 });
    await later(0);
    expect(await texts()).toEqual(['mast text 2']);
    const before = runs;
    await cycle();
    await cycle();
    await later(30_000);
    expect(runs - before).toBe(1);
  });

  test('Z3: an item that changed mounts it again; the one that goes on goes on', async () => {
    await fresh();
    await cycle();
    const watching = whole.dispatcher.liveRuns;
    whole.source.write('a', 'other text');
    await cycle();
    expect(whole.dispatcher.liveRuns).toBe(watching);
    const before = runs;
    await later(30_000);
    expect(runs - before).toBe(1);
  });

  test('it ends with its item, and takes its rows along', async () => {
    await fresh();
    await cycle();
    whole.source.remove('a');
    whole.source.write('b', 'stays');
    for (let more = 0; more < 3; more += 1) await cycle();
    expect((await whole.state.item('docs', 'a')) ?? 'gone').toBe('gone');
    const before = runs;
    await later(30_000);
    expect(runs - before, 'only that of b').toBe(1);
    whole.source.remove('b');
    await cycle();
    expect(await texts()).toEqual([]);
    expect(whole.dispatcher.liveRuns).toBe(0);
  });

  test('Z4: where nothing stays it runs once in every cycle and never by itself; a failure then counts', async () => {
    await fresh({ livesOn: false });
    await cycle();
    await later(300_000);
    expect(runs).toBe(1);
    reading = 'text 2';
    expect(await cycle()).toMatchObject({ unchanged: 1, failed: 0 });
    expect(await texts()).toEqual(['mast text 2']);
    reading = 'broken';
    expect(await cycle()).toMatchObject({ unchanged: 1, failed: 1 });
  });

  test('a first run that fails fails the run that mounted it, and nothing lives on', async () => {
    await fresh();
    reading = 'broken';
    expect(await cycle()).toMatchObject({ failed: 1 });
    expect((await whole.state.item('docs', 'a'))?.error).toContain('no reading');
    expect(whole.dispatcher.liveRuns).toBe(0);
  });
});

describe('mountEachLive', () => {
  const ran: string[] = [];
  let shelf: Shelf;
  const book: Component<string, void> = (title) => {
    ran.push(title);
    if (title.includes('torn')) throw new Error('a page is torn');
    declareRow('rows', { text: `text ${title}` });
  };

  const fresh = async (options: Partial<WholeOptions> & { readonly isFeed?: boolean } = {}): Promise<void> => {
    const mine = new Shelf();
    shelf = mine;
    shelf.entries.set('one', 'v1').set('two', 'v1');
    ran.length = 0;
    const watch = mine.watch.bind(mine);
    const books = options.isFeed === true ? liveView({ watch }) : liveView({ scan: () => mine.scan(), watch });
    const entry: ModuleFunction = async (elements) => {
      await mountEachLive(book, 'books', books, null);
      return elements;
    };
    await open({ entry, book, books }, options);
  };

  test('processes what is there, then what comes, changes and goes, each as an update of its own', async () => {
    await fresh();
    expect(await cycle()).toMatchObject({ added: 1 });
    expect(await texts()).toEqual(['text v1', 'text v1']);
    await shelf.set('two', 'v2');
    await shelf.set('three', 'v3');
    expect(await texts()).toEqual(['text v1', 'text v2', 'text v3']);
    shelf.entries.delete('one');
    shelf.say([{ key: 'one', deleted: true }]);
    await later(0);
    expect(await texts()).toEqual(['text v2', 'text v3']);
    expect(ran).toEqual(['v1', 'v1', 'v2', 'v3']);
  });

  test('an equal input is no change, and a scan runs only what differs', async () => {
    await fresh();
    await cycle();
    await shelf.set('one', 'v1');
    shelf.say([{ rescan: true }]);
    await later(0);
    expect(ran).toEqual(['v1', 'v1']);
  });

  test('W1: what changed while nobody watched comes with the scan after a restart, after a failure, and with the net', async () => {
    await fresh();
    await cycle();
    await whole.restart();
    shelf.entries.set('one', 'v2').delete('two');
    await cycle();
    await later(0);
    expect(await texts()).toEqual(['text v2']);

    shelf.entries.set('one', 'v3');
    shelf.break(new Error('the connection dropped'));
    await later(0);
    expect(await texts()).toEqual(['text v3']);
    expect(whole.engine.takeNotes('docs').join()).toContain('failed and is begun again: the connection dropped');

    shelf.entries.set('four', 'silent');
    await later(3_600_000);
    expect(await texts()).toEqual(['text silent', 'text v3']);
  });

  test('an entry that fails stops no other, counts as failed, and is tried again with the next scan', async () => {
    await fresh();
    shelf.entries.set('bad', 'torn');
    expect(await cycle()).toMatchObject({ added: 1, failed: 1 });
    expect(await texts()).toEqual(['text v1', 'text v1']);
    const tries = ran.filter((title) => title === 'torn').length;
    shelf.say([{ rescan: true }]);
    await later(0);
    expect(ran.filter((title) => title === 'torn').length).toBe(tries + 1);
    await shelf.set('bad', 'mended');
    expect(await texts()).toContain('text mended');
  });

  test('a feed shows changes only: a restart deletes nothing, and asking it for a scan is told', async () => {
    await fresh({ isFeed: true });
    await cycle();
    expect(await texts()).toEqual([]);
    await shelf.set('one', 'v1');
    await whole.restart();
    await cycle();
    expect(await texts()).toEqual(['text v1']);
    shelf.say([{ rescan: true }]);
    await later(0);
    expect(whole.engine.takeNotes('docs').join()).toContain('a feed cannot be scanned again');
    expect(await texts()).toEqual(['text v1']);
  });
});

describe('mountLive', () => {
  let operator: LiveOperator;
  const ran: string[] = [];
  const gate = new Gate();
  const part: Component<string, void> = async (input) => {
    ran.push(input);
    await gate.pass(input);
    declareRow('rows', { text: `text ${input}` });
  };
  let parts: [string, string][] = [];
  const board = liveComponent<null>({
    process: async () => {
      await mountEach(part, parts);
    },
    processLive: async (_input, given) => {
      operator = given;
      await new Promise((_, reject) => given.signal.addEventListener('abort', () => reject(given.signal.reason)));
    },
  });
  const entry: ModuleFunction = async (elements) => {
    await mountLive(board, 'board', null);
    return elements;
  };

  const fresh = async (exported: object = {}, options: Partial<WholeOptions> = {}): Promise<void> => {
    parts = [['p', 'first']];
    ran.length = 0;
    gate.isOpen = true;
    gate.forget();
    await open({ entry, board, part, ...exported }, options);
    await cycle();
    await later(0);
  };

  test('O1: a hundred rapid updates of a busy key run twice, the first and the newest, and every one is answered', async () => {
    await fresh();
    gate.isOpen = false;
    const outcomes: Promise<LiveOutcome>[] = [operator.update('k', part, 'update 0')];
    await gate.held(1);
    for (let at = 1; at <= 100; at += 1) outcomes.push(operator.update('k', part, `update ${at}`));
    await later(0);
    expect(ran.slice(1)).toEqual(['update 0']);
    gate.open();
    await later(0);
    expect(ran.slice(1)).toEqual(['update 0', 'update 100']);
    const ends = await Promise.all(outcomes);
    expect([ends[0], ends[100]]).toEqual(['done', 'done']);
    expect(ends.slice(1, 100).every((end) => end === 'superseded')).toBe(true);
    expect(await texts()).toEqual(['text first', 'text update 100']);
  });

  test('O2: one that waits for its slot and is replaced never takes one', async () => {
    await fresh({}, { slots: 1 });
    gate.isOpen = false;
    void operator.update('busy', part, 'busy');
    await gate.held(1);
    const first = operator.update('k', part, 'old');
    await later(0);
    const second = operator.update('k', part, 'new');
    expect(await first).toBe('superseded');
    gate.open();
    expect(await second).toBe('done');
    expect(ran).toEqual(['first', 'busy', 'new']);
  });

  test('a delete after an update that waits, and an update after a delete: the last one counts', async () => {
    await fresh();
    const update = operator.update('k', part, 'in vain');
    const gone = operator.delete('k');
    expect([await update, await gone]).toEqual(['superseded', 'done']);
    expect(await texts()).toEqual(['text first']);
    void operator.delete('k');
    expect(await operator.update('k', part, 'back')).toBe('done');
    expect(await texts()).toEqual(['text back', 'text first']);
  });

  test('O3: a full pass waits for the keys that run, holds back those asked for meanwhile, and deletes what it does not mount', async () => {
    await fresh();
    gate.isOpen = false;
    const running = operator.update('k', part, 'running');
    await gate.held(1);
    const full = operator.updateFull();
    const after = operator.update('l', part, 'after');
    await later(0);
    expect(ran).toEqual(['first', 'running']);
    gate.open();
    expect(await Promise.all([running, full, after])).toEqual(['done', 'done', 'done']);
    expect(ran, 'the pass mounts what it knows').toEqual(['first', 'running', 'first', 'after']);
    expect(await texts(), 'k was known incrementally only').toEqual(['text after', 'text first']);
  });

  test('what it wrote is read again after a restart, and goes with it', async () => {
    await fresh();
    expect(await operator.readState()).toBeUndefined();
    await operator.writeState({ offset: 100 });
    await whole.restart();
    await cycle();
    await later(0);
    expect(await operator.readState()).toEqual({ offset: 100 });
    whole.source.remove('a');
    await cycle();
    expect(await whole.state.cursors('docs', '', 10)).toEqual([]);
  });

  test('W3: the live part mounts through its operator only, and O4: once it is to stop, everything it asks is answered', async () => {
    const refused: string[] = [];
    const wrong = liveComponent<null>({
      process: () => {},
      processLive: async () => {
        await mount(part, 'x', 'y').catch((error: Error) => refused.push(error.message));
      },
    });
    await fresh({
      wrong,
      entry: (async () => [void (await mountLive(wrong, 'w', null))].flatMap(() => [])) as ModuleFunction,
    });
    expect(refused).toEqual([expect.stringContaining('mount cannot be called in the live part of a component')]);
    await fresh();
    whole.dispatcher.closeSource('docs', 'the test ends');
    await later(0);
    expect(await operator.update('k', part, 'late')).toBe('cancelled');
    expect(whole.dispatcher.liveRuns).toBe(0);
  });

  test('two live components of unlike items share the slots as branches of their source', async () => {
    await fresh();
    whole.source.write('b', 'text');
    await cycle();
    expect(whole.dispatcher.liveRuns, 'a watcher for each').toBe(2);
  });
});

test('a run says how far it is, for those who watch', async () => {
  const gate = new Gate(false);
  const entry: ModuleFunction = async (elements) => {
    progress(34, 120, 'pages');
    await gate.pass('half');
    return elements;
  };
  await open({ entry });
  whole.triggers.want({ trigger: 'test' });
  await gate.held(1);
  expect(whole.engine.progressOfRuns()).toEqual([
    { source: 'docs', key: 'a', path: 'docs/a', done: 34, total: 120, what: 'pages' },
  ]);
  gate.open();
  await whole.idle(10);
  expect(whole.engine.progressOfRuns()).toEqual([]);
});
