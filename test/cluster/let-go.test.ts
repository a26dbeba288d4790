// What the chart runs before an uninstall, on a real API server. There is no controller of Deployments: what it would do is done here.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FINALIZER } from '../../crds/schema/index.ts';
import { systemClock } from '../../operator/clock.ts';
import { letGo } from '../../operator/service/index.ts';
import { MINIMAL_PIPELINE, MINIMAL_SOURCE } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { apiOf } from '../support/operator.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/fairlead/deployments';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/fairlead/leases';
const OBJECTS = '/apis/fairlead.dev/v1alpha1/namespaces';

let server: ApiServer;
let api: ReturnType<typeof apiOf>;
beforeAll(async () => {
  server = await startApiServer();
  await installCrds(server);
  api = apiOf(server.url, server.token);
  for (const name of ['fairlead', 'search', 'docs'])
    await server.ask('POST', '/api/v1/namespaces', { metadata: { name } });
});
afterAll(async () => {
  await api?.close();
  await server?.stop();
});

const run = (more: { watchNamespaces?: string[]; signal?: AbortSignal } = {}) =>
  letGo({
    api,
    clock: systemClock,
    signal: new AbortController().signal,
    namespace: 'fairlead',
    deployment: 'fairlead',
    lease: 'fairlead',
    watchNamespaces: [],
    ...more,
  });

const others = 'example.com/held-by-others';

async function make(namespace: string): Promise<void> {
  for (const [plural, object] of [
    ['pipelines', MINIMAL_PIPELINE],
    ['livesources', MINIMAL_SOURCE],
  ] as const) {
    const metadata = { name: 'index', namespace, finalizers: [FINALIZER, others] };
    const made = await server.ask('POST', `${OBJECTS}/${namespace}/${plural}`, { ...object, metadata });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
  }
}

const finalizers = async (namespace: string): Promise<unknown[]> =>
  Promise.all(
    ['pipelines', 'livesources'].map(async (plural) => {
      const { body } = await server.ask('GET', `${OBJECTS}/${namespace}/${plural}/index`);
      return (body as { metadata: { finalizers?: string[] } }).metadata.finalizers;
    }),
  );

async function makeOperators(): Promise<void> {
  const labels = { app: 'operator' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'operator', image: 'a' }] } };
  await server.ask('POST', DEPLOYMENTS, {
    metadata: { name: 'fairlead' },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  });
  await setReplicas(2);
  const now = new Date().toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: 'fairlead-0', leaseDurationSeconds: 3_600, acquireTime: now, renewTime: now };
  await server.ask('POST', LEASES, { metadata: { name: 'fairlead' }, spec });
}

const merge = { contentType: 'application/merge-patch+json' };
const setReplicas = (replicas: number) =>
  server.ask('PATCH', `${DEPLOYMENTS}/fairlead/status`, { status: { replicas, observedGeneration: 1 } }, merge);

test('where no operator is left, finalizers go, those of others and the objects stay, and twice is as once', async () => {
  await make('search');
  await make('docs');
  expect(await run({ watchNamespaces: ['search'] })).toBe(2);
  expect(await finalizers('search')).toEqual([[others], [others]]);
  expect(await finalizers('docs')).toEqual([
    [FINALIZER, others],
    [FINALIZER, others],
  ]);
  expect(await run()).toBe(2);
  expect(await run()).toBe(0);
  expect(await finalizers('docs')).toEqual([[others], [others]]);
});

test('G1: operators are ended first, and while one of them leads no finalizer goes', async () => {
  await makeOperators();
  const { body } = await server.ask('GET', `${OBJECTS}/search/pipelines/index`);
  expect(body).toBeDefined();
  await server.ask(
    'PATCH',
    `${OBJECTS}/search/pipelines/index`,
    { metadata: { finalizers: [FINALIZER, others] } },
    merge,
  );
  const done = run();
  const deployment = async () =>
    (await server.ask('GET', `${DEPLOYMENTS}/fairlead`)).body as { spec: { replicas: number } };
  await eventually(deployment, ({ spec }) => spec.replicas === 0, 'the operators are told to end');
  await setReplicas(0);
  const giveUp = new AbortController();
  const impatient = run({ signal: giveUp.signal });
  giveUp.abort();
  await expect(impatient).rejects.toThrow('did not end in time');
  expect((await finalizers('search'))[0]).toEqual([FINALIZER, others]);
  await server.ask('PATCH', `${LEASES}/fairlead`, { spec: { holderIdentity: '' } }, merge);
  expect(await done).toBe(1);
  expect((await finalizers('search'))[0]).toEqual([others]);
});
