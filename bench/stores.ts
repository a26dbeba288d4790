// What states and targets do by themselves, without an engine: comparing an unchanged source of 400,000 items, committing components with rows,
// searching 66,000 of them. Postgres is measured where FAIRLEAD_BENCH_POSTGRES_URL names one (`make postgres` starts one).
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../runner/clock.ts';
import type { Commit, StateStore, Target, TargetRow } from '../runner/execute/index.ts';
import { itemPath } from '../runner/protocol/index.ts';
import { PostgresState, SqliteState } from '../runner/state/index.ts';
import { PostgresTarget, SqliteTarget } from '../runner/targets/index.ts';
import { type Bench, type Result, result } from './report.ts';

const ITEMS = 400_000;
const LISTING = 1000;
const COMPONENTS = 5_000;
const ROWS_EACH = 13;
const GROUP = 64;
const DIMENSIONS = 384;
const HASH = 'f'.repeat(64);

const hash = (text: string): string => createHash('md5').update(text).digest('hex');
const pages = (count: number, size: number): number[] =>
  Array.from({ length: Math.ceil(count / size) }, (_, page) => page * size);

async function secondsOf(body: () => Promise<unknown>): Promise<number> {
  const beganAt = performance.now();
  await body();
  return (performance.now() - beganAt) / 1000;
}

/** Keys as a listing of a large repository gives them: by folder. */
const listing = (from: number, size: number) =>
  Array.from({ length: size }, (_, index) => ({
    key: `src/part${String((from + index) >> 9).padStart(4, '0')}/file-${String(from + index).padStart(7, '0')}.ts`,
    version: hash(String(from + index)),
  }));

let runs = 0;

function commitOf(key: string, version: string, epoch: number): Extract<Commit, { kind: 'replace' }> {
  const token = { epoch, run: ++runs, attempt: 1 };
  const item = { source: 'code', key, version };
  const rows = new Map<string, Uint8Array>();
  return {
    kind: 'replace',
    path: itemPath('code', key),
    token,
    item,
    fingerprint: HASH,
    contentHash: HASH,
    rows,
    changes: new Map(),
  };
}

async function compareRate(state: StateStore, epoch: number): Promise<number> {
  const batches = pages(ITEMS, LISTING).map((from) => listing(from, LISTING));
  for (const batch of batches) await state.commit(batch.map(({ key, version }) => commitOf(key, version, epoch)));
  const seconds = await secondsOf(async () => {
    for (const batch of batches) await state.compare('code', batch, HASH);
  });
  return ITEMS / seconds;
}

/** About 680 characters of words that code might have, repeatable. */
function textOf(seed: number): string {
  let state = seed;
  const words = Array.from({ length: 90 }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return WORDS[state % WORDS.length];
  });
  return words.join(' ');
}

const WORDS = Array.from(
  { length: 6000 },
  (_, index) => `${['get', 'parse', 'handle', 'is'][index % 4]}${hash(String(index)).slice(0, 5)}`,
);

function rowsOf(component: number): TargetRow[] {
  const key = `src/file-${component}.ts`;
  return Array.from({ length: ROWS_EACH }, (_, index) => {
    const seed = component * ROWS_EACH + index;
    const vector = Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(seed * 7.1 + at * 1.3));
    const element = { text: textOf(seed), vector, place: { startByte: 0, endByte: 680, startLine: 1, endLine: 20 } };
    return { id: hash(`${key} ${index}`), owner: itemPath('code', key), source: 'code', key, element };
  });
}

async function rowRate(state: StateStore, target: Target, epoch: number): Promise<number> {
  let seconds = 0;
  for (const from of pages(COMPONENTS, GROUP)) {
    const group = Array.from({ length: Math.min(GROUP, COMPONENTS - from) }, (_, index) => {
      const upserts = rowsOf(from + index);
      const { owner, key } = upserts[0] as TargetRow;
      const changes = new Map([[target.name, { owner, upserts, touches: [], deletes: [] }]]);
      return { ...commitOf(key, '1', epoch), changes };
    });
    seconds += await secondsOf(() => state.commit(group));
  }
  return (COMPONENTS * ROWS_EACH) / seconds;
}

async function searchMs(target: Target): Promise<number> {
  const vector = Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(at * 1.3));
  const query = { text: `${WORDS[5]} ${WORDS[77]} file`, vector, limit: 10 };
  await target.search?.(query);
  return (await secondsOf(async () => target.search?.(query))) * 1000;
}

async function measure(name: string, state: StateStore, target: Target): Promise<Result[]> {
  const epoch = await state.open('next');
  try {
    await target.prepare();
    const rows = await rowRate(state, target, epoch);
    const ms = await searchMs(target);
    const compared = await compareRate(state, epoch);
    await target.drop();
    return [
      result(`${name}-compare-per-s`, compared, 'items/s'),
      result(`${name}-rows-per-s`, rows, 'rows/s'),
      result(`${name}-search-66k-ms`, ms, 'ms'),
    ];
  } finally {
    await target.close();
    await state.close();
  }
}

const TARGET = {
  name: 'vectors',
  table: 'bench_chunks',
  pipeline: 'bench/stores',
  vector: { dimensions: DIMENSIONS, metric: 'cosine' },
} as const;

async function onSqlite(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  try {
    const target = new SqliteTarget(TARGET);
    const state = new SqliteState({ file: join(folder, 'state.db'), clock: systemClock, shared: [target] });
    return await measure('sqlite', state, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onPostgres(url: string): Promise<Result[]> {
  const target = new PostgresTarget({ ...TARGET, schema: 'fairlead_bench' });
  const pipeline = `bench/${process.pid}`;
  const state = new PostgresState({ url, schema: 'fairlead_bench', pipeline, shared: [target] });
  const results = await measure('postgres', state, target);
  await state.open('next');
  await state.drop();
  await state.close();
  return results;
}

export const stores: Bench = async () => {
  const url = process.env.FAIRLEAD_BENCH_POSTGRES_URL;
  const embedded = await onSqlite();
  return url === undefined ? embedded : [...embedded, ...(await onPostgres(url))];
};
