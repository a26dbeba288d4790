// The life of an installation, in the order in which a user lives it. Each scenario builds on the one before.
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../test/support/eventually.ts';
import {
  apply,
  attempt,
  get,
  helm,
  inGit,
  inNamespace,
  keepEvidence,
  kubectl,
  NAMESPACE,
  OPERATOR_NAMESPACE,
  sql,
} from './support/cluster.ts';

interface Seen {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Record<string, string>;
  };
  readonly status?: {
    readonly conditions?: { type: string; status: string; reason: string; message: string }[];
    readonly items?: { done?: number };
  };
}
interface List {
  readonly items: readonly Seen[];
}

const manifest = (name: string): string => readFileSync(new URL(`./manifests/${name}`, import.meta.url), 'utf8');
const VALUES = ['--set', 'image.repository=fairlead,image.tag=e2e,image.pullPolicy=Never', '--set', 'replicas=2'];

beforeAll(async () => {
  await kubectl('create', 'namespace', NAMESPACE);
  await kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
  await apply(manifest('services.yaml'));
  for (const name of ['postgres', 'git']) await inNamespace('rollout', 'status', `deploy/${name}`, '--timeout=120s');
  await inGit(
    'git init -q -b main /git/docs; cd /git/docs; mkdir pages; for i in $(seq 1 40); do echo "page $i about ropes" > pages/$i.md; done; git add .; git commit -qm first',
  );
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await keepEvidence(process.env.FAIRLEAD_E2E_EVIDENCE ?? 'e2e-evidence');
});
afterAll(async () => {
  await attempt('helm', ['uninstall', 'fairlead', '-n', OPERATOR_NAMESPACE, '--wait']);
  await attempt('kubectl', ['delete', 'namespace', NAMESPACE, OPERATOR_NAMESPACE, '--timeout=120s'], '', 180_000);
});

const ready = (seen: Seen | undefined) =>
  seen?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
const rowsWith = (word: string) => sql(`select count(*) from chunks where text like '%${word}%'`);
const runners = async (): Promise<readonly Seen[]> =>
  (await get<List>('pods', '-n', NAMESPACE, '-l', 'app.kubernetes.io/component=runner'))?.items ?? [];
const leaders = async (): Promise<readonly Seen[]> =>
  ((await get<List>('pods', '-n', OPERATOR_NAMESPACE, '-l', 'fairlead.dev/leader=true'))?.items ?? []).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );

/** A commit becomes searchable. */
async function follows(word: string): Promise<void> {
  await inGit(`cd /git/docs; echo "${word}" > pages/${word}.md; git add .; git commit -qm ${word}`);
  await eventually(
    () => rowsWith(word),
    ([count]) => count === '1',
    `${word} is in the index`,
    180_000,
  );
}

test('the chart installs, with two replicas of which one leads', async () => {
  await helm(
    'install',
    'fairlead',
    'charts/fairlead',
    '-n',
    OPERATOR_NAMESPACE,
    '--create-namespace',
    '--wait',
    '--timeout=3m',
    ...VALUES,
  );
  await eventually(leaders, (all) => all.length === 1, 'one leads');
});

test('an index is made in a namespace with restricted Pod Security, and its LiveSource becomes Ready', async () => {
  await apply(manifest('index.yaml'));
  await eventually(() => get<Seen>('livesource', 'docs', '-n', NAMESPACE), ready, 'docs is Ready', 240_000);
  expect(await rowsWith('ropes')).toEqual(['40']);
});

test('a commit to the repository becomes searchable', () => follows('hawser'));

test('a runner pod that is deleted is replaced, and the source is followed on', async () => {
  const [runner] = await runners();
  await inNamespace('delete', 'pod', runner!.metadata.name, '--wait=false');
  await follows('bowline');
  expect((await runners()).map(({ metadata }) => metadata.uid)).not.toContain(runner!.metadata.uid);
});

test('when the leader is deleted the other operator leads, and the source is followed on', async () => {
  const [leader] = await leaders();
  await kubectl('delete', 'pod', '-n', OPERATOR_NAMESPACE, leader!.metadata.name, '--wait=false');
  await eventually(
    leaders,
    (all) => all.length === 1 && all[0]?.metadata.uid !== leader!.metadata.uid,
    'another leads',
  );
  await follows('halyard');
});

test('an upgrade of the chart keeps what runs and what is indexed', async () => {
  await helm(
    'upgrade',
    'fairlead',
    'charts/fairlead',
    '-n',
    OPERATOR_NAMESPACE,
    '--wait',
    '--timeout=3m',
    ...VALUES,
    '--set',
    'podLabels.upgraded=yes',
  );
  await follows('painter');
  expect(await rowsWith('ropes')).toEqual(['40']);
});

test('a deleted Pipeline takes its rows along; the release leaves nothing but the CRDs and their objects', async () => {
  await inNamespace('delete', 'livesource', 'docs', '--timeout=120s');
  await eventually(
    () => sql('select count(*) from chunks'),
    ([count]) => count === '0',
    'the rows are gone',
  );
  await inNamespace('delete', 'pipeline', 'index', '--timeout=120s');
  await eventually(runners, (all) => all.length === 0, 'the runner pods are gone');
  await helm('uninstall', 'fairlead', '-n', OPERATOR_NAMESPACE, '--wait');
  const left = await kubectl(
    'get',
    'clusterroles,clusterrolebindings',
    '-l',
    'app.kubernetes.io/instance=fairlead',
    '-o',
    'name',
  );
  expect(left).toBe('');
});
