// The controllers on a real API server. There is no kubelet, scheduler or garbage collector: the test plays pods and runners.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FINALIZER } from '../../crds/schema/index.ts';
import { systemClock } from '../../operator/clock.ts';
import type { KubeApi } from '../../operator/cluster/index.ts';
import { Telemetry } from '../../operator/telemetry/index.ts';
import { NO_COUNTS, type RunOutcome } from '../../runner/protocol/index.ts';
import { MINIMAL_PIPELINE, MINIMAL_SOURCE, type Plain } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { apiOf, startOperator, type TestOperator } from '../support/operator.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';

let server: ApiServer;
let api: KubeApi & { close(): Promise<void> };
let operator: TestOperator;
let telemetry: Telemetry;
let namespace: string;
let namespaces = 0;

beforeAll(async () => {
  server = await startApiServer();
  await installCrds(server);
  api = apiOf(server.url, server.token);
  telemetry = new Telemetry({ clock: systemClock });
  operator = await startOperator(api, { follow: (key) => telemetry.follow(key) });
});
afterAll(async () => {
  await operator?.stop();
  telemetry?.close();
  await api?.close();
  await server?.stop();
});
beforeEach(async () => {
  namespace = `test-${++namespaces}`;
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
});

type Seen = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly finalizers?: string[];
    readonly ownerReferences?: readonly object[];
    readonly labels: Record<string, string>;
    readonly resourceVersion: string;
  };
  readonly spec: Record<string, unknown>;
  readonly status?: Record<string, unknown> & { readonly conditions?: Condition[] };
};
type SeenEvent = {
  readonly metadata: { readonly annotations?: Record<string, string> };
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly series?: { readonly count: number };
};
type Condition = { type: string; status: string; reason: string; message: string; lastTransitionTime: string };

const group = '/apis/fairlead.dev/v1alpha1';
const CORE = ['pods', 'services'];
const pathOf = (plural: string, name?: string) =>
  `${CORE.includes(plural) ? '/api/v1' : group}/namespaces/${namespace}/${plural}${name === undefined ? '' : `/${name}`}`;

async function make(object: Plain, name: string, spec: Plain = {}): Promise<void> {
  const plural = object.kind === 'Pipeline' ? 'pipelines' : 'livesources';
  const body = { ...object, metadata: { name, namespace }, spec: { ...(object.spec as Plain), ...spec } };
  const answer = await server.ask('POST', pathOf(plural), body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
}

const see = async (plural: string, name: string): Promise<Seen | undefined> => {
  const answer = await server.ask('GET', pathOf(plural, name));
  return answer.status === 200 ? (answer.body as Seen) : undefined;
};
const pods = async (): Promise<Seen[]> => ((await server.ask('GET', pathOf('pods'))).body as { items: Seen[] }).items;

const patch = (plural: string, name: string, body: object, subresource = '') =>
  server.ask('PATCH', pathOf(plural, name) + subresource, body, { contentType: 'application/merge-patch+json' });

/** Events of a reason, in the namespace of the test. */
async function eventsOf(...reasons: string[]): Promise<SeenEvent[]> {
  const answer = await server.ask('GET', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
  return (answer.body as { items: SeenEvent[] }).items.filter(({ reason }) => reasons.includes(reason));
}

const conditionOf = (seen: Seen | undefined, type: string): Condition | undefined =>
  seen?.status?.conditions?.find((condition) => condition.type === type);

const untilCondition = (plural: string, name: string, type: string, wanted: Partial<Condition>) =>
  eventually(
    () => see(plural, name),
    (seen) => Object.entries(wanted).every(([key, value]) => conditionOf(seen, type)?.[key as 'type'] === value),
    `${name}: ${type} ${JSON.stringify(wanted)}`,
  );

/** A runner connects from a pod. */
function join(pipeline: string, pod: string, runnerClass = 'default'): ScriptedRunner {
  const host = operator.control.hosts.get(`${namespace}/${pipeline}`)!.host;
  const runner = new ScriptedRunner();
  runner.uplink = host.addRunner({ name: `${pod}/1`, runnerClass, slots: 64, runner }).uplink;
  return runner;
}

const done = (counts: Partial<typeof NO_COUNTS> = {}): RunOutcome => ({
  kind: 'done',
  counts: { ...NO_COUNTS, ...counts },
});

/** A Pipeline and a LiveSource whose first cycle executes. */
async function running() {
  await make(MINIMAL_PIPELINE, 'index');
  await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
  const [pod] = await eventually(pods, (all) => all.length === 1, 'a runner pod');
  const runner = join('index', pod!.metadata.name);
  await eventually(
    () => runner.paths(),
    (paths) => paths.includes('docs'),
    'the first cycle executes',
  );
  return { runner, pod: pod! };
}

describe('a Pipeline and its LiveSource', () => {
  test('a pod is made for the first cycle, owned by the Pipeline; the status follows it to Ready', async () => {
    const { runner, pod } = await running();
    expect(pod.metadata).toMatchObject({ labels: { 'fairlead.dev/runner-class': 'default' } });
    const pipeline = await see('pipelines', 'index');
    expect(pod.metadata.labels['fairlead.dev/owner-uid']).toBe(pipeline!.metadata.uid);
    expect(pipeline!.metadata.finalizers).toEqual([FINALIZER]);
    runner.exit('docs', done({ added: 1_000_000 }));
    runner.count('docs', { total: 1_000_000 });
    const source = await untilCondition('livesources', 'docs', 'Ready', { status: 'True', reason: 'Ready' });
    expect(source!.status).toMatchObject({ items: { total: 1_000_000, done: 1_000_000 }, kind: 'git' });
    expect(JSON.stringify(source!.status).length).toBeLessThan(8192);
    await untilCondition('pipelines', 'index', 'Ready', { status: 'True' });
  });

  test('an idle cycle writes nothing to the API server', async () => {
    const { runner } = await running();
    runner.exit('docs', done({ added: 3 }));
    await untilCondition('livesources', 'docs', 'Ready', { status: 'True' });
    await untilCondition('pipelines', 'index', 'Progressing', { status: 'False' });
    const isWritten = () => operator.control.statuses.isIdle && operator.control.metrics().sources.depth === 0;
    await eventually(isWritten, Boolean, 'the statuses are written');
    const versions = async () =>
      [await see('livesources', 'docs'), await see('pipelines', 'index')].map((seen) => seen!.metadata.resourceVersion);
    const before = await versions();
    const host = operator.control.hosts.get(`${namespace}/index`)!.host;
    // Each ends before anything else happens: however slow the machine is, no status is due while one executes.
    runner.start = (order) => queueMicrotask(() => runner.uplink.exited(order.token.run, done({ unchanged: 3 })));
    for (let cycle = 0; cycle < 3; cycle++) {
      const since = host.records('docs')!.checkedAtMs;
      host.wantCycle('docs', { trigger: 'interval' });
      await eventually(
        () => host.records('docs')!.checkedAtMs,
        (atMs) => atMs !== since,
        'the cycle ends',
      );
    }
    await eventually(isWritten, Boolean, 'what there was to write is written');
    expect(await versions()).toEqual(before);
  });

  test('an update that fails is an event with its reason and its trace; the next one joins the series with the trace of its own', async () => {
    const { runner } = await running();
    const events = () => eventsOf('UpdateFailed');
    const failed: RunOutcome = {
      kind: 'failed',
      counts: NO_COUNTS,
      error: { class: 'transient', message: 'the repository is away', step: 'list' },
    };
    const first = runner.orders.find(({ path }) => path === 'docs')!;
    runner.exit('docs', failed);
    const [event] = await eventually(events, (all) => all.length === 1, 'the event of the first update');
    const traceOf = (order: typeof first) => order.traceparent?.split('-')[1] ?? 'none';
    expect(event).toMatchObject({ type: 'Warning', regarding: { kind: 'LiveSource', name: 'docs' } });
    expect(event!.note).toContain(`failed: the repository is away. Trace ${traceOf(first)}`);
    expect(event!.metadata.annotations).toEqual({
      'fairlead.dev/update': first.update,
      'fairlead.dev/trace-id': traceOf(first),
    });
    operator.control.hosts.get(`${namespace}/index`)!.host.wantCycle('docs', { trigger: 'interval' });
    await eventually(
      () => runner.paths(),
      (paths) => paths.includes('docs'),
      'it is tried again',
    );
    const second = runner.orders.findLast(({ path }) => path === 'docs')!;
    runner.exit('docs', failed);
    const [joined] = await eventually(events, ([one]) => one?.series?.count === 2, 'the series');
    expect(joined!.metadata.annotations?.['fairlead.dev/trace-id']).toBe(traceOf(second));
    expect(traceOf(second)).not.toBe(traceOf(first));
  });

  test('a trigger annotation makes one cycle and is echoed in status', async () => {
    const { runner } = await running();
    runner.exit('docs', done({ added: 3 }));
    await patch('livesources', 'docs', { metadata: { annotations: { 'fairlead.dev/refresh': 'first' } } });
    await eventually(
      () => see('livesources', 'docs'),
      (seen) => (seen?.status?.handled as Plain)?.refresh === 'first',
      'the echo',
    );
    await eventually(
      () => runner.paths(),
      (paths) => paths.includes('docs'),
      'the cycle executes',
    );
    runner.exit('docs', done({ unchanged: 3 }));
    await patch('livesources', 'docs', { metadata: { labels: { touched: 'yes' } } });
    await untilCondition('livesources', 'docs', 'Ready', { status: 'True' });
    expect(runner.orders.filter(({ trigger }) => trigger === 'refresh')).toHaveLength(1);
  });

  test('the annotation repair has a runner mend, once, also where the Pipeline has no new work', async () => {
    const { runner } = await running();
    runner.exit('docs', done({ added: 3 }));
    await patch('pipelines', 'index', { metadata: { annotations: { 'fairlead.dev/repair': 'now' } } });
    await eventually(
      () => runner.paths(),
      (paths) => paths.includes(''),
      'a runner mends',
    );
    expect(runner.orders.at(-1)).toMatchObject({ kind: 'pipeline', trigger: 'repair', input: { ask: 'repair' } });
    runner.exit('', {
      ...done(),
      value: { rows: 3, missing: 0, surplus: 0, differences: [], repaired: 1 },
    } as RunOutcome);
    const seen = await eventually(
      () => see('pipelines', 'index'),
      (pipeline) => (pipeline?.status?.handled as Plain)?.repair === 'now',
      'the echo',
    );
    await patch('pipelines', 'index', { metadata: { labels: { touched: 'yes' } } });
    await untilCondition('pipelines', 'index', 'Ready', { status: 'True' });
    expect(runner.orders.filter(({ trigger }) => trigger === 'repair')).toHaveLength(1);
    expect(JSON.stringify(seen?.status)).not.toContain('differences');
  });

  test('a LiveSource without its Pipeline says so, and is followed as soon as there is one', async () => {
    await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
    await untilCondition('livesources', 'docs', 'Ready', { status: 'False', reason: 'PipelineNotFound' });
    await make(MINIMAL_PIPELINE, 'index');
    await eventually(pods, (all) => all.length === 1, 'a runner pod');
    await untilCondition('livesources', 'docs', 'Ready', { reason: 'WaitingForRunner' });
  });

  test('a suspended Pipeline keeps no runner; it goes on when told to', async () => {
    const { runner, pod } = await running();
    runner.exit('docs', done({ added: 3 }));
    await patch('pipelines', 'index', { spec: { suspend: true } });
    await untilCondition('pipelines', 'index', 'Ready', { status: 'False', reason: 'Suspended' });
    await eventually(
      () => see('pods', pod.metadata.name),
      (seen) => seen === undefined,
      'the pod is deleted',
    );
    await untilCondition('livesources', 'docs', 'Ready', { reason: 'PipelineSuspended' });
  });
});

test('Items shows what the state holds, after updates of single keys too, and tells failed and quarantined apart', async () => {
  const { runner } = await running();
  runner.exit('docs', done({ added: 3 }));
  runner.count('docs', { total: 3 });
  const items = () => server.kubectl(['get', 'livesource', 'docs', '-n', namespace, '-o', 'jsonpath={.status.items}']);
  const shows = (wanted: object) =>
    eventually(
      async () => JSON.parse((await items()).stdout || '{}') as object,
      (seen) => Object.entries(wanted).every(([name, value]) => seen[name as keyof object] === value),
      JSON.stringify(wanted),
    );
  await shows({ total: 3, done: 3, summary: '3/3' });
  const host = operator.control.hosts.get(`${namespace}/index`)!.host;
  host.update({ kind: 'key', source: 'docs', key: 'new.md', trigger: 'watch' });
  await eventually(
    () => runner.paths(),
    (paths) => paths.some((path) => path.startsWith('docs/')),
    'the update of a key executes',
  );
  runner.exit(runner.paths().find((path) => path.startsWith('docs/'))!, done({ added: 1 }));
  runner.count('docs', { total: 4, failed: 1, quarantined: 1 });
  await shows({ total: 4, done: 2, failed: 1, quarantined: 1, summary: '2/4' });
  await untilCondition('livesources', 'docs', 'Degraded', { status: 'True', reason: 'ItemsQuarantined' });
});

test('a target that goes away shows as a reason of its own on both kinds, and goes when commits are taken again; each is one event', async () => {
  const { runner } = await running();
  runner.exit('docs', done({ added: 3 }));
  await untilCondition('pipelines', 'index', 'Ready', { status: 'True' });
  const { host } = operator.control.hosts.get(`${namespace}/index`)!;
  const update = async (key: string, outcome: RunOutcome) => {
    host.update({ kind: 'key', source: 'docs', key, trigger: 'watch' });
    await eventually(
      () => runner.paths(),
      (paths) => paths.includes(`docs/${key}`),
      `the update of ${key} executes`,
    );
    runner.exit(`docs/${key}`, outcome);
  };
  const error = { class: 'transient', step: 'export', message: 'target vectors: connect ECONNREFUSED' } as const;
  for (const key of ['a', 'b', 'c']) await update(key, { kind: 'failed', counts: NO_COUNTS, error });
  const away = { reason: 'TargetUnreachable', message: error.message };
  await untilCondition('pipelines', 'index', 'Ready', { status: 'False', ...away });
  await untilCondition('livesources', 'docs', 'Degraded', { status: 'True', ...away });
  await update('a', done({ reprocessed: 1 }));
  await untilCondition('pipelines', 'index', 'Ready', { status: 'True' });
  await untilCondition('livesources', 'docs', 'Degraded', { status: 'False' });
  const told = await eventually(
    () => eventsOf('TargetUnreachable', 'StoresReachable'),
    (all) => all.length === 2,
    'both events',
  );
  const regarding = expect.objectContaining({ kind: 'Pipeline', name: 'index' });
  expect(told).toContainEqual(
    expect.objectContaining({
      type: 'Warning',
      reason: 'TargetUnreachable',
      regarding,
      note: expect.stringContaining(error.message),
    }),
  );
  expect(told).toContainEqual(expect.objectContaining({ type: 'Normal', reason: 'StoresReachable', regarding }));
});

describe('push sources', () => {
  const push = { push: { secretFrom: { secretKeyRef: { name: 'key', key: 'key' } } } };
  const pushed = async () => {
    await make(MINIMAL_PIPELINE, 'index');
    await make(MINIMAL_SOURCE, 'docs', {
      pipelineRef: { name: 'index' },
      source: push,
      mode: 'Watch',
      interval: undefined,
    });
  };

  test('get a Service that leads to the runners of their Pipeline, and goes with it', async () => {
    await pushed();
    const service = await eventually(() => see('services', 'push-index'), Boolean, 'the Service');
    const [pod] = await eventually(pods, (all) => all.length === 1, 'a runner pod');
    const { selector, ports } = service!.spec as { selector: Record<string, string>; ports: object[] };
    expect(pod!.metadata.labels).toMatchObject(selector);
    expect(ports).toMatchObject([{ port: 80, targetPort: 'push' }]);
    const pipeline = await see('pipelines', 'index');
    expect(service!.metadata.ownerReferences).toMatchObject([{ uid: pipeline!.metadata.uid, controller: true }]);
  });

  test('take no Service from others: one of that name stays as it is, and an event says so', async () => {
    const spec = { selector: { app: 'another' }, ports: [{ name: 'push', port: 80, targetPort: 8080 }] };
    expect((await server.ask('POST', pathOf('services'), { metadata: { name: 'push-index' }, spec })).status).toBe(201);
    await pushed();
    const [event] = await eventually(
      () => eventsOf('PushServiceRefused'),
      (all) => all.length === 1,
      'the event',
    );
    expect(event!.note).toContain('conflict');
    expect((await see('services', 'push-index'))!.spec).toMatchObject({ selector: { app: 'another' } });
    await eventually(pods, (all) => all.length === 1, 'a runner pod all the same');
  });

  test('alone get one', async () => {
    await running();
    expect(await see('services', 'push-index')).toBeUndefined();
  });
});

describe('deletion', () => {
  test('rows go first, then the LiveSource; then the Pipeline in the same way', async () => {
    const { runner } = await running();
    runner.exit('docs', done({ added: 3 }));
    await server.ask('DELETE', pathOf('livesources', 'docs'));
    await eventually(
      () => runner.orders.at(-1)?.kind,
      (kind) => kind === 'delete',
      'the rows are removed',
    );
    expect((await see('livesources', 'docs'))!.metadata.finalizers).toEqual([FINALIZER]);
    runner.exit('docs', done({ deleted: 3 }));
    await eventually(
      () => see('livesources', 'docs'),
      (seen) => seen === undefined,
      'the LiveSource is gone',
    );
    await server.ask('DELETE', pathOf('pipelines', 'index'));
    await eventually(
      () => runner.paths(),
      (paths) => paths.includes(''),
      'all rows are removed',
    );
    runner.exit('', done());
    await eventually(
      () => see('pipelines', 'index'),
      (seen) => seen === undefined,
      'the Pipeline is gone',
    );
  });

  test('a removal that fails is a condition with its message, and is tried again', async () => {
    const { runner } = await running();
    runner.exit('docs', done({ added: 3 }));
    await server.ask('DELETE', pathOf('livesources', 'docs'));
    await eventually(
      () => runner.orders.at(-1)?.kind,
      (kind) => kind === 'delete',
      'the rows are removed',
    );
    runner.exit('docs', {
      kind: 'failed',
      counts: NO_COUNTS,
      error: { class: 'transient', message: 'the database is away' },
    });
    await untilCondition('livesources', 'docs', 'Stalled', {
      reason: 'DeletionStuck',
      message: 'the database is away',
    });
    await eventually(
      () => runner.paths(),
      (paths) => paths.includes('docs'),
      'it is tried again',
    );
    runner.exit('docs', done());
    await eventually(
      () => see('livesources', 'docs'),
      (seen) => seen === undefined,
      'the LiveSource is gone',
    );
  });

  test('in a namespace that is being deleted, where no runner can be made any more, nobody waits for one', async () => {
    await make(MINIMAL_PIPELINE, 'index');
    await untilCondition('pipelines', 'index', 'Accepted', { status: 'True' });
    await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    await server.ask('DELETE', pathOf('pipelines', 'index'));
    await eventually(
      () => see('pipelines', 'index'),
      (seen) => seen === undefined,
      'the Pipeline is gone',
      30_000, // half of the time after which it would be let go anyway
    );
  });

  test('deletionPolicy Retain lets go at once', async () => {
    await make(MINIMAL_PIPELINE, 'index', { deletionPolicy: 'Retain' });
    await untilCondition('pipelines', 'index', 'Accepted', { status: 'True' });
    await server.ask('DELETE', pathOf('pipelines', 'index'));
    await eventually(
      () => see('pipelines', 'index'),
      (seen) => seen === undefined,
      'the Pipeline is gone',
    );
  });
});

describe('runner pods', () => {
  test('a template that the API server refuses makes no pod, and the condition names the field', async () => {
    const runners = [{ name: 'default', template: { spec: { nodeSelctor: { disk: 'fast' } } } }];
    await make(MINIMAL_PIPELINE, 'index', { runners });
    await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
    const seen = await untilCondition('pipelines', 'index', 'RunnersAvailable', { reason: 'TemplateRefused' });
    expect(conditionOf(seen, 'RunnersAvailable')!.message).toContain('nodeSelctor');
    expect(await pods()).toEqual([]);
  });

  test('a quota that refuses pods is a reason to wait, not an error', async () => {
    await server.ask('POST', `/api/v1/namespaces/${namespace}/resourcequotas`, {
      metadata: { name: 'none' },
      spec: { hard: { pods: '0' } },
    });
    // Nobody counts here: without a controller manager the quota's status must be played.
    await server.ask(
      'PATCH',
      `/api/v1/namespaces/${namespace}/resourcequotas/none/status`,
      { status: { hard: { pods: '0' }, used: { pods: '0' } } },
      { contentType: 'application/merge-patch+json' },
    );
    const pod = { metadata: { name: 'tried' }, spec: { containers: [{ name: 'a', image: 'a' }] } };
    await eventually(
      () => server.ask('POST', `${pathOf('pods')}?dryRun=All`, pod),
      ({ status }) => status === 403,
      'the API server keeps to the quota',
    );
    await make(MINIMAL_PIPELINE, 'index');
    await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
    await untilCondition('pipelines', 'index', 'RunnersAvailable', { reason: 'QuotaExceeded' });
  });

  test('a pod that failed for good is replaced by another of the same name', async () => {
    const { pod } = await (async () => {
      await make(MINIMAL_PIPELINE, 'index');
      await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
      const [first] = await eventually(pods, (all) => all.length === 1, 'a runner pod');
      return { pod: first! };
    })();
    const { name, uid } = pod.metadata;
    await patch('pods', name, { status: { phase: 'Failed', reason: 'UnexpectedAdmissionError' } }, '/status');
    await eventually(
      () => see('pods', name),
      (seen) => seen !== undefined && seen.metadata.uid !== uid,
      'a new pod',
    );
  });

  test('F104: a pod that no node takes is Unschedulable with the words of the scheduler', async () => {
    await make(MINIMAL_PIPELINE, 'index');
    await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
    const [pod] = await eventually(pods, (all) => all.length >= 1, 'a runner pod');
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes fit' };
    await patch('pods', pod!.metadata.name, { status: { conditions: [condition] } }, '/status');
    const seen = await untilCondition('pipelines', 'index', 'RunnersAvailable', { reason: 'Unschedulable' });
    expect(conditionOf(seen, 'RunnersAvailable')!.message).toContain('0/3 nodes fit');
  });
});

test('G7: of the cards of a node those that another pod holds are not counted on; when it goes they are used', async () => {
  const cards = { 'nvidia.com/gpu': '2' };
  await server.ask('POST', '/api/v1/nodes', { metadata: { name: 'with-cards' } });
  const offer = { status: { capacity: cards, allocatable: cards } };
  await server.ask('PATCH', '/api/v1/nodes/with-cards/status', offer, { contentType: 'application/merge-patch+json' });
  const limits = { 'nvidia.com/gpu': '1' };
  const container = { name: 'a', image: 'a', resources: { limits } };
  const foreign = { metadata: { name: 'foreign' }, spec: { nodeName: 'with-cards', containers: [container] } };
  expect((await server.ask('POST', pathOf('pods'), foreign)).status).toBe(201);
  await eventually(
    () => operator.caches.offeredCards(new Set(['nvidia.com/gpu']))?.get('nvidia.com/gpu'),
    (offered) => offered === 1,
    'one card is left',
  );
  const url = { urlFrom: { secretKeyRef: { name: 'index-db', key: 'url' } } };
  const runners = [{ name: 'gpu', slots: 4, gpus: 1, replicas: { min: 2, max: 2 } }];
  await make(MINIMAL_PIPELINE, 'index', { runners, state: { postgres: url } });
  const own = async () => (await pods()).filter(({ metadata }) => metadata.name !== 'foreign');
  await eventually(own, (all) => all.length === 1, 'one runner pod');
  await untilCondition('pipelines', 'index', 'RunnersAvailable', { status: 'False' });
  expect(await own()).toHaveLength(1);
  const now = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
  await server.ask('DELETE', pathOf('pods', 'foreign'), now);
  await eventually(own, (all) => all.length === 2, 'the other one');
});

test('conditions of both kinds stand from first sight, as the API conventions ask', async () => {
  await make(MINIMAL_PIPELINE, 'index');
  const seen = await untilCondition('pipelines', 'index', 'Accepted', { status: 'True' });
  expect(seen!.status!.conditions!.map(({ type }) => type)).toEqual([
    'Ready',
    'Accepted',
    'RunnersAvailable',
    'Progressing',
    'Suspended',
  ]);
});
