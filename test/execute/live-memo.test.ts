// L1, L2: what memoised functions of a live part computed is found by the next process, on both stores. Each process is an engine with a store of its
// own, which has one live part executed and is left without a word.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../runner/clock.ts';
import { Engine, type StateStore } from '../../runner/execute/index.ts';
import { type LivePart, liveComponent, memo } from '../../runner/sdk/user.ts';
import { PostgresState, SqliteState } from '../../runner/state/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { Desk } from './desk.ts';
import { moduleOf, moduleStep } from './user-module.ts';

const postgres = await testPostgres('functions of live parts on Postgres');

interface Store {
  readonly state: () => StateStore;
}

let pipelines = 0;

const stores: { readonly [name: string]: () => Store } = {
  SQLite: () => {
    const file = join(mkdtempSync(join(tmpdir(), 'fairlead-live-')), 'state.db');
    return { state: () => new SqliteState({ file, clock: systemClock }) };
  },
  ...(postgres && {
    Postgres: () => {
      const pipeline = `search/live-${++pipelines}`;
      return { state: () => new PostgresState({ url: postgres.url, schema: 'fairlead', pipeline }) };
    },
  }),
};

describe.each(Object.entries(stores))('on %s', (_name, open) => {
  let computed: string[] = [];
  const translate = memo(
    async (word: string) => {
      computed.push(word);
      if (word === 'broken') throw new Error('no such word');
      return { word: word.toUpperCase(), weights: Float32Array.from([word.length]) };
    },
    { name: 'translate' },
  );

  /** A process that has the live part executed, and what it computed for that. */
  async function process(store: Store, processLive: LivePart<null>): Promise<string[]> {
    computed = [];
    const state = store.state();
    const epoch = await state.open('next');
    const board = liveComponent<null>({ process: () => {}, processLive });
    const engine = new Engine({
      state,
      plan: { component: { steps: [moduleStep(moduleOf({ board }))] }, targets: [] },
      sources: new Map(),
      clock: systemClock,
    });
    const desk = new Desk(engine, 4, epoch);
    const input = { module: 0, call: 'board', input: null, life: { kind: 'live' }, isCaughtUp: true };
    const outcome = await desk.root({ kind: 'watch', path: 'docs/a/board', source: 'docs', key: 'a', input }).ended;
    await state.close();
    expect(outcome).toMatchObject({ kind: 'done' });
    return computed;
  }

  test('a live part that is begun by another process computes nothing again, and gets what was computed', async () => {
    const store = open();
    const results: unknown[] = [];
    const part: LivePart<null> = async () => void results.push(await translate('one'), await translate('one'));
    expect(await process(store, part)).toEqual(['one']);
    expect(await process(store, part)).toEqual([]);
    expect(results).toEqual(results.map(() => ({ word: 'ONE', weights: Float32Array.from([3]) })));
  });

  test('calls of one moment share one execution, and what fails is not remembered', async () => {
    const store = open();
    const part: LivePart<null> = async () => {
      await Promise.all([translate('two'), translate('two')]);
      await translate('broken').catch(() => {});
      await translate('broken').catch(() => {});
    };
    expect(await process(store, part)).toEqual(['two', 'broken', 'broken']);
    expect(await process(store, part)).toEqual(['broken', 'broken']);
  });
});
