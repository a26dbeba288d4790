// Both stores answer any history of calls alike. Method: random calls go to SQLite and to Postgres, and every answer, and at the end all that
// can be read, is compared; numbers and times are left out, because each store gives its own. A failure prints the seed and the shortest history.
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../runner/clock.ts';
import type { Commit, ComponentRecord, MemoChange, StateStore } from '../../runner/execute/index.ts';
import { itemPath } from '../../runner/protocol/index.ts';
import { PostgresState, SqliteState } from '../../runner/state/index.ts';
import { testPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { failed, hexId, memoEntry, nested, packed, removed, replaced, textOf, token, work } from './build.ts';

const postgres = await testPostgres('the agreement of both states');
const KEYS = ['a', 'b/c', 'd%'] as const;
const UPDATES = ['u1', 'u2', 'u3'] as const;
const RUNS = Number(process.env.FAIRLEAD_TEST_HISTORIES ?? 15);

type Step = (state: StateStore) => Promise<unknown>;

const key = fc.constantFrom(...KEYS);
const update = fc.constantFrom(...UPDATES);
const version = fc.constantFrom('1', '2', '');
const run = fc.integer({ min: 1, max: 6 });
const bytes = fc.integer({ min: 1, max: 250 });

/** A base that is right, wrong or missing, for what the store holds at that moment. */
async function baseFor(state: StateStore, path: string, wish: 'right' | 'wrong' | 'none') {
  if (wish === 'none') return {};
  if (wish === 'wrong') return { base: token(1, 9) };
  const [record] = await state.components([path]);
  return record === undefined ? {} : { base: record.token };
}

const base = fc.constantFrom('right', 'right', 'right', 'wrong', 'none');
const memo: fc.Arbitrary<MemoChange | undefined> = fc.option(
  fc.record({
    put: fc.array(
      fc.integer({ min: 1, max: 4 }).map((n) => memoEntry(n)),
      { maxLength: 2 },
    ),
    uses: fc.array(fc.integer({ min: 1, max: 4 }).map(hexId), { maxLength: 2 }),
    drop: fc.array(fc.integer({ min: 5, max: 6 }).map(hexId), { maxLength: 1 }),
    retire: fc.array(
      fc.integer({ min: 5, max: 8 }).map((n) => memoEntry(n)),
      { maxLength: 2 },
    ),
  }),
  { nil: undefined },
);

const commit = fc
  .record({
    kind: fc.constantFrom('replace', 'replace', 'nested', 'touch', 'fail', 'quarantine', 'remove'),
    key,
    run,
    version,
    base,
    settles: fc.option(update, { nil: undefined }),
    memo,
    bytes,
  })
  .map((it) => async (state: StateStore): Promise<Commit> => {
    const path = it.kind === 'nested' ? `${itemPath('docs', it.key)}/part` : itemPath('docs', it.key);
    const item = { source: 'docs', key: it.key, version: it.version };
    const rest = {
      token: token(it.run),
      ...(await baseFor(state, path, it.base as 'right')),
      ...(it.settles === undefined ? {} : { settles: it.settles }),
      ...(it.memo === undefined ? {} : { memo: it.memo }),
    };
    const rows = new Map([['far', packed(it.bytes)]]);
    if (it.kind === 'replace') return replaced(it.key, { ...rest, item, rows, contentHash: `h${it.bytes}` });
    if (it.kind === 'nested') return nested(it.key, 'part', { ...rest, rows, value: { n: it.bytes } });
    if (it.kind === 'touch') return { kind: 'touch', path, ...rest, item };
    if (it.kind === 'remove') return removed(it.key, rest);
    const status = it.kind === 'fail' ? ('failed' as const) : ('quarantined' as const);
    return failed(it.key, { ...rest, item, status, losses: it.run % 4 });
  });

function withoutMemo(one: Commit, isLater: boolean): Commit {
  if (!isLater || (one.kind !== 'replace' && one.kind !== 'remove')) return one;
  const { memo: _, ...rest } = one;
  return rest;
}

const commits = fc.array(commit, { minLength: 1, maxLength: 3 }).map(
  (makers): Step =>
    async (state) => {
      // Only the first of a group says something of the memo: how two of one group share an entry is each store's own.
      const group: Commit[] = [];
      for (const make of makers) group.push(withoutMemo(await make(state), group.length > 0));
      return state.commit(group);
    },
);

const entering = fc
  .array(
    fc.record({
      key,
      update,
      version,
      action: fc.constantFrom('process', 'process', 'delete'),
      reprocess: fc.boolean(),
      isOld: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map(
    (offers): Step =>
      async (state) => {
        const nowMs = await state.nowMs();
        const answers = await state.enter(
          offers.map(({ isOld, reprocess, action, ...offer }) =>
            work(offer.key, {
              ...offer,
              action: action as 'process',
              seenAtMs: isOld ? 5 : nowMs,
              ...(reprocess ? { reprocess } : {}),
            }),
          ),
        );
        return answers.map((answer) => (answer.kind === 'tookOver' ? `tookOver from ${answer.from}` : answer.kind));
      },
  );

const intents = fc.record({ key, run, bytes }).map(({ key: name, run: number, bytes: byte }) => [
  {
    path: itemPath('docs', name),
    token: token(number),
    item: { source: 'docs', key: name },
    rows: new Map([['far', packed(byte)]]),
  },
]);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: commits },
  { weight: 4, arbitrary: entering },
  {
    weight: 1,
    arbitrary: intents.map(
      (list): Step =>
        (state) =>
          state.intend(list),
    ),
  },
  {
    weight: 1,
    arbitrary: intents.map(
      (list): Step =>
        (state) =>
          state.doubt(list),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(update, fc.subarray([...UPDATES])).map(
      ([adopter, open]): Step =>
        (state) =>
          state.adoptWork('docs', adopter, open),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ key, update }).map(
      (entry): Step =>
        (state) =>
          state.startWork([{ source: 'docs', ...entry }]),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ key, update }).map(
      (entry): Step =>
        (state) =>
          state.restWork([{ source: 'docs', ...entry }]),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ key, update }).map(
      (entry): Step =>
        (state) =>
          state.dropWork(entry.update, [{ source: 'docs', key: entry.key }]),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.option(key, { nil: undefined }).map(
      (one): Step =>
        (state) =>
          state.release('docs', one === undefined ? undefined : [one]),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((state) => state.memo.put([memoEntry(9), memoEntry(1, 'other')])) },
);

const timeless = ({
  id: _,
  committedAtMs,
  seenAtMs,
  ...rest
}: {
  id?: number;
  committedAtMs?: number;
  seenAtMs?: number;
}) => ({
  ...rest,
  everCommitted: (committedAtMs ?? 0) > 0,
  everSeen: (seenAtMs ?? 0) > 0,
});

const comparable = (record: ComponentRecord | undefined) =>
  record && { ...record, rows: [...record.rows], intended: [...record.intended] };

/** All that can be read of a state, without numbers and times. */
async function picture(state: StateStore) {
  const items = [...KEYS].map((name) => ({ source: 'docs', key: name }));
  const listed = KEYS.flatMap((name) => ['1', '2'].map((one) => ({ key: name, version: one })));
  const opened = await state.begin(items.map((item) => ({ path: itemPath(item.source, item.key), item })));
  const taken = await Promise.all(UPDATES.map((name) => state.takeWork(name, 0, 100)));
  return {
    verdicts: (await state.compare('docs', listed, 'spec-1')).map(({ verdict }) => verdict),
    opened: opened.map(({ work: entry, item, component }) => ({
      work: entry && { ...entry, seq: 0, seenAtMs: 0 },
      item: item && timeless(item),
      component: comparable(component),
    })),
    parts: (await state.components(items.map((item) => `${itemPath(item.source, item.key)}/part`))).map(comparable),
    children: [await state.children('docs', '', 100), await state.children('docs/a', '', 100)],
    taken: taken.map((entries) => entries.map(({ key: name, action, losses }) => [name, action, losses])),
    items: (await state.scanItems({}, 0, 100)).map(({ key: name }) => name),
    memo: (await state.memo.get([1, 2, 3, 4, 5, 6, 7, 8, 9].map(hexId))).map(textOf),
    sizes: { ...(await state.sizes()), bytes: 0 },
  };
}

describe.skipIf(postgres === undefined)('both states', () => {
  const url = postgres?.url ?? '';
  const shared = new PostgresState({ url, schema: 'fairlead', pipeline: 'agree/alike' });
  const client = new pg.Client({ connectionString: url });
  beforeAll(() => Promise.all([client.connect(), shared.open(1)]));
  afterAll(() => Promise.all([client.end(), shared.close()]));

  const TABLES = ['components', 'holdings', 'intents', 'removed', 'work', 'memo', 'cursors', 'updates'];
  const empty = () => client.query(`TRUNCATE ${TABLES.map((name) => `fairlead.s1_${name}`).join(', ')}`);

  test('answer every history of calls alike', async () => {
    let histories = 0;
    const folder = temporaryFolder();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const sqlite = new SqliteState({ file: join(folder, `${++histories}.db`), clock: systemClock });
        await Promise.all([sqlite.open(1), empty()]);
        try {
          for (const one of steps) expect(await one(sqlite)).toEqual(await one(shared));
          expect(await picture(sqlite)).toEqual(await picture(shared));
        } finally {
          await sqlite.close();
        }
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 40_000, markInterruptAsFailure: false },
    );
  });
});
