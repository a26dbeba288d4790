// The local check and the API server agree beyond the table: on objects bent at random, and on how a file's scalars are read.
// Both tests print their seed; `FAIRLEAD_SEED` replays one, `FAIRLEAD_RUNS` runs more of them.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadTexts } from '../../cli/objects/index.ts';
import { GROUP, KINDS, type KindName, VERSION } from '../../crds/schema/index.ts';
import { LINES, type Plain } from '../crds/objects.ts';
import { READ_AS } from '../crds/scalars.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';

const RUNS = Number(process.env.FAIRLEAD_RUNS ?? 1500);
const SEED = process.env.FAIRLEAD_SEED;

let api: ApiServer;

beforeAll(async () => {
  api = await startApiServer();
  await installCrds(api);
});
afterAll(() => api?.stop());

/** Objects to bend: those of the table that are accepted. */
const GOOD = Object.values(LINES)
  .filter((line) => line.refused === undefined)
  .map((line) => line.object);

/** Values that one would write by mistake, or that sit at an edge. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  1,
  2,
  -1,
  0.5,
  64,
  65,
  1_000_001,
  2 ** 40,
  '',
  ' ',
  'a',
  'A',
  'a-b',
  'a_b',
  '-a',
  'a.b',
  'a/b',
  'ä',
  '😀',
  '0',
  '1',
  '500m',
  '1500m',
  '0.5',
  '2Gi',
  '1e3',
  '1e99',
  '-1Gi',
  '30s',
  '1h30m',
  '25h',
  '99999999999h',
  '1d',
  'http://a',
  'git@a:b',
  '* * * * *',
  '@daily',
  'Watch',
  'Refresh',
  'Delete',
  'cpu',
  'vectors',
  'chunks',
  'a'.repeat(64),
  'a'.repeat(300),
  [],
  [1],
  ['a'],
  [{}],
  [null],
  {},
  { a: 1 },
  { name: 'a' },
  { hash: {} },
  { secretKeyRef: { name: 'a', key: 'b' } },
];

type Path = readonly (string | number)[];

/** Paths of every value below `spec`, and of the name. Pod templates and JSON schemas hold anything: left alone. */
function pathsOf(value: unknown, at: Path = ['spec']): Path[] {
  if (['template', 'schema', 'settings'].includes(String(at.at(-1)))) return [at];
  const below = Array.isArray(value)
    ? value.flatMap((item, index) => pathsOf(item, [...at, index]))
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, member]) => pathsOf(member, [...at, key]))
      : [];
  return [at, ...below];
}

interface Bend {
  readonly kind: 'replace' | 'remove' | 'add' | 'copy';
  readonly place: number;
  readonly value: number;
}

const FIELDS = [
  'name',
  'gpu',
  'batch',
  'timeout',
  'read',
  'split',
  'export',
  'forEach',
  'cron',
  'interval',
  'mode',
  'runner',
  'limits',
  'state',
  'suspend',
  'x',
];

function bent(object: Plain, bends: readonly Bend[]): Plain {
  const copy = structuredClone(object);
  for (const bend of bends) {
    const paths = pathsOf(copy.spec).filter((path) => path.length > 1);
    const path = paths[bend.place % paths.length];
    if (path !== undefined) bendAt(copy, path, bend);
  }
  return copy;
}

function bendAt(root: Plain, path: Path, { kind, value }: Bend): void {
  const owner = path.slice(0, -1).reduce<unknown>((node, key) => (node as Plain)[key], root) as Plain;
  const key = String(path.at(-1));
  const fresh = structuredClone(VALUES[value % VALUES.length]);
  if (kind === 'replace') owner[key] = fresh;
  if (kind === 'remove') Array.isArray(owner) ? owner.splice(Number(key), 1) : delete owner[key];
  if (kind === 'add') addTo(owner, value, fresh);
  if (kind === 'copy' && Array.isArray(owner)) owner.push(structuredClone(owner[Number(key)]));
}

function addTo(owner: Plain, value: number, fresh: unknown): void {
  if (Array.isArray(owner)) owner.push(fresh);
  else owner[FIELDS[value % FIELDS.length] ?? 'x'] = fresh;
}

const bend: fc.Arbitrary<Bend> = fc.record({
  kind: fc.constantFrom('replace', 'remove', 'add', 'copy'),
  place: fc.nat({ max: 10_000 }),
  value: fc.nat({ max: 10_000 }),
});

/** What only the local check knows: cron expressions and time zones, cards that no class has, and whether the Pipeline is there. */
const ONLY_HERE =
  /is no cron expression|never comes true|is no time zone|there is no Pipeline|asks for (a card|\d+ cards of one runner)/;

function problemsHere(object: Plain): string[] {
  const text = stringify(object, { version: '1.1' });
  return loadTexts([{ name: 'bent.yaml', folder: '/', text }])
    .problems.map((problem) => `${problem.field}: ${problem.message}`)
    .filter((problem) => !ONLY_HERE.test(problem));
}

async function problemThere(object: Plain): Promise<string | undefined> {
  const { plural } = KINDS[object.kind as KindName];
  const path = `/apis/${GROUP}/${VERSION}/namespaces/default/${plural}?dryRun=All&fieldValidation=Strict`;
  const { status, body } = await api.ask('POST', path, object);
  return status === 201 ? undefined : String((body as { message?: unknown }).message ?? body);
}

describe('the local check and the API server', () => {
  test(`agree on ${RUNS} objects bent at random`, async () => {
    let refusedCount = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...GOOD),
        fc.array(bend, { minLength: 1, maxLength: 3 }),
        async (object, bends) => {
          const candidate = bent(object, bends);
          const here = problemsHere(candidate);
          const there = await problemThere(candidate);
          if (there !== undefined) refusedCount += 1;
          expect({ here: here.length > 0, why: here, there }).toEqual({ here: there !== undefined, why: here, there });
        },
      ),
      { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) },
    );
    expect(refusedCount, 'bent objects must be refused often, or this proves little').toBeGreaterThan(RUNS / 4);
    expect(refusedCount, 'and accepted often').toBeLessThan((RUNS * 19) / 20);
  }, 600_000);
});

describe('kubectl', () => {
  test('reads the scalars of YAML as the table says, which cli/objects is held to', async () => {
    const entries = Object.entries(READ_AS);
    const documents = entries.map(
      ([scalar], index) =>
        `apiVersion: example.com/v1\nkind: Holder\nmetadata: {name: n${index}}\nspec:\n  value: ${scalar}\n`,
    );
    const { stdout, stderr, code } = await api.kubectl(
      ['label', '--local', '-f', '-', 'a=b', '-o', 'json'],
      documents.join('---\n'),
    );
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const read = stdout.split(/^(?=\{)/m).map((one) => (JSON.parse(one) as { spec: { value: unknown } }).spec.value);
    expect(Object.fromEntries(entries.map(([scalar], index) => [scalar, read[index]]))).toEqual(READ_AS);
  });
});
