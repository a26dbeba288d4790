// What runners answer of state and targets: V1 and V2 are the invariants at the head of runner/execute/audit.ts. The real engine and embedded state, a
// target that a test damages.
import { describe, expect, test } from 'vitest';
import { auditTargets } from '../../runner/execute/index.ts';
import {
  ANSWER_MAX_BYTES,
  FIRST_TROUBLED,
  type Question,
  type Repaired,
  type RunOutcome,
  type TroubledPage,
  type Verified,
} from '../../runner/protocol/index.ts';
import { World } from './world.ts';

const NOTHING: Verified = { rows: 0, missing: 0, surplus: 0, differences: [] };

async function indexed(keys: readonly string[] = ['a', 'b', 'c']): Promise<World> {
  const world = await World.open();
  for (const key of keys) world.source.write(key, `one of ${key}\ntwo of ${key}`);
  await world.cycle();
  return world;
}

const ask = (world: World, question: Question): Promise<RunOutcome> =>
  world.desk.root({ kind: 'pipeline', trigger: question.ask, input: question }).ended;

async function answer<T>(world: World, question: Question): Promise<T> {
  const outcome = await ask(world, question);
  if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
  return outcome.value as T;
}

/** Damages the target: a row of `a` goes, and one comes that nobody recorded. */
function damage({ target }: World): { readonly lost: string } {
  const [lost, row] = [...target.rows].find(([, { key }]) => key === 'a')!;
  target.rows.delete(lost);
  target.rows.set('f'.repeat(32), { ...row, owner: 'docs/ghost', key: 'ghost' });
  return { lost };
}

describe('verify', () => {
  test('an index that nobody touched has no difference', async () => {
    expect(await answer(await indexed(), { ask: 'verify' })).toEqual({ ...NOTHING, rows: 6 });
  });

  test('a row that the target lacks and one that the state does not know are told with their items', async () => {
    const world = await indexed();
    const { lost } = damage(world);
    expect(await answer(world, { ask: 'verify' })).toEqual({
      rows: 6,
      missing: 1,
      surplus: 1,
      differences: [
        { target: 'rows', kind: 'surplus', row: 'f'.repeat(32), owner: 'docs/ghost', source: 'docs', key: 'ghost' },
        { target: 'rows', kind: 'missing', row: lost, owner: 'docs/a', source: 'docs', key: 'a' },
      ],
    });
  });

  test('V1: rows of a commit that is under way are no difference', async () => {
    const world = await indexed();
    world.source.write('new', 'not recorded yet');
    world.source.write('a', 'another text');
    const applied = Promise.withResolvers<void>();
    const recorded = Promise.withResolvers<void>();
    const { apply } = world.target;
    world.target.apply = async (changes) => {
      await apply.call(world.target, changes);
      applied.resolve();
      await recorded.promise;
    };
    const cycle = world.cycle();
    await applied.promise;
    expect(await answer(world, { ask: 'verify' })).toMatchObject({ missing: 0, surplus: 0 });
    recorded.resolve();
    await cycle;
    expect(await answer(world, { ask: 'verify' })).toMatchObject({ missing: 0, surplus: 0 });
  });

  test('V2: compared in parts, what is found is the same', async () => {
    const world = await indexed(Array.from({ length: 40 }, (_, number) => `file-${number}`));
    for (const id of [...world.target.rows.keys()].filter((_, index) => index % 3 === 0)) world.target.rows.delete(id);
    const audited = { state: world.state, targets: [world.target] };
    const whole = await auditTargets(audited);
    const parts = await auditTargets({ ...audited, rowsAtOnce: 7 });
    const rowsOf = ({ found }: typeof whole): string[] => found.differences.map(({ row }) => row).sort();
    expect(whole.found).toMatchObject({ rows: 80, missing: 27, surplus: 0 });
    expect(parts.found).toMatchObject({ rows: 80, missing: 27, surplus: 0 });
    expect(rowsOf(parts)).toEqual(rowsOf(whole));
    expect(parts.owners).toEqual(whole.owners);
  });

  test('an answer stays small, however much differs; what it does not list is counted', async () => {
    const long = 'k'.repeat(2_000);
    const world = await indexed(Array.from({ length: 200 }, (_, number) => `${long}-${number}`));
    world.target.rows.clear();
    const found = await answer<Verified>(world, { ask: 'verify' });
    expect(found.missing).toBe(400);
    expect(found.differences.length).toBeLessThan(400);
    expect(JSON.stringify(found).length).toBeLessThan(1.1 * ANSWER_MAX_BYTES);
  });

  test('a target that cannot be read fails the answer with its reason', async () => {
    const world = await indexed();
    world.target.scan = async () => {
      throw new Error('the disk is gone');
    };
    expect(await ask(world, { ask: 'verify' })).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringContaining('the disk is gone') },
    });
  });

  test('one that is cancelled ends at once', async () => {
    const world = await indexed();
    world.target.scan = () => new Promise(() => {});
    const { run, ended } = world.desk.root({ kind: 'pipeline', input: { ask: 'verify' } });
    world.engine.cancel(run, 'whoever asked has gone');
    expect(await ended).toEqual({ kind: 'cancelled', why: 'whoever asked has gone' });
  });
});

describe('repair', () => {
  test('items whose rows differ are processed again, rows of nobody go, and the rest is left alone', async () => {
    const world = await indexed();
    const before = world.target.texts();
    damage(world);
    world.work.calls.length = 0;
    const left = await answer<Repaired>(world, { ask: 'repair' });
    expect(left).toEqual({ ...NOTHING, rows: 6, repaired: 2 });
    expect(world.target.texts()).toEqual(before);
    expect(world.work.calls).toEqual(['a']);
  });
});

describe('troubled', () => {
  test('items that failed are listed with their errors, page by page', async () => {
    const world = await indexed([]);
    const keys = Array.from({ length: 1_100 }, (_, number) => `bad-${number}`);
    for (const key of keys) world.source.write(key, 'text');
    world.source.write('good', 'text');
    world.work.onCall = (key) => {
      if (key !== 'good') throw new Error(`refused ${key}`);
    };
    await world.cycle();
    const found: TroubledPage['items'][number][] = [];
    let pages = 0;
    for (let place: TroubledPage['next'] = FIRST_TROUBLED; place !== undefined; pages++) {
      const page: TroubledPage = await answer<TroubledPage>(world, { ask: 'troubled', after: place });
      found.push(...page.items);
      place = page.next;
    }
    expect(new Set(found.map(({ key }) => key))).toEqual(new Set(keys));
    expect(found).toHaveLength(keys.length);
    expect(found[0]).toMatchObject({
      source: 'docs',
      status: 'failed',
      error: expect.stringContaining('refused bad-'),
    });
    expect(pages).toBeGreaterThan(2);
  });
});

test('a question that this version does not know is no question: an update of the Pipeline that finds nothing to do', async () => {
  const world = await indexed();
  world.work.calls.length = 0;
  const outcome = await world.desk.root({ kind: 'pipeline', input: { ask: 'the way' } }).ended;
  expect(outcome).toMatchObject({ kind: 'done' });
  expect(outcome).not.toHaveProperty('value');
  expect(world.work.calls).toEqual([]);
});
