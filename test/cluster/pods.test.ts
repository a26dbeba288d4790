// Runner pods that end or never start, on a real API server: the test writes into their statuses what kubelets and schedulers write.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { KubeApi } from '../../operator/cluster/index.ts';
import { MINIMAL_PIPELINE, type Plain } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { apiOf, startOperator, type TestOperator } from '../support/operator.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
}
interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

const merge = { contentType: 'application/merge-patch+json' };
const OBJECTS = '/apis/fairlead.dev/v1alpha1';

let server: ApiServer;
let api: KubeApi & { close(): Promise<void> };
let operator: TestOperator;
let namespace = '';
let count = 0;

beforeAll(async () => {
  server = await startApiServer();
  await installCrds(server);
  api = apiOf(server.url, server.token);
  operator = await startOperator(api);
});
afterAll(async () => {
  await operator?.stop();
  await api?.close();
  await server?.stop();
});
beforeEach(async () => {
  namespace = `pods-${++count}`;
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
});

const podsPath = (name = '') => `/api/v1/namespaces/${namespace}/pods${name && `/${name}`}`;
const pods = async (): Promise<readonly Pod[]> =>
  ((await server.ask('GET', podsPath())).body as { items: Pod[] }).items;
const pipelinePath = () => `${OBJECTS}/namespaces/${namespace}/pipelines/index`;

async function makePipeline(replicas: number): Promise<readonly Pod[]> {
  const runners = [{ name: 'default', replicas: { min: replicas, max: replicas } }];
  const url = { urlFrom: { secretKeyRef: { name: 'index-db', key: 'url' } } };
  const spec = { ...(MINIMAL_PIPELINE.spec as Plain), runners, state: { postgres: url } };
  const made = await server.ask('POST', `${OBJECTS}/namespaces/${namespace}/pipelines`, {
    ...MINIMAL_PIPELINE,
    metadata: { name: 'index' },
    spec,
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return eventually(pods, (all) => all.length === replicas, 'its pods');
}

/** What a kubelet, or a scheduler, says of a pod. */
async function say(pod: Pod, status: object): Promise<void> {
  const answer = await server.ask('PATCH', `${podsPath(pod.metadata.name)}/status`, { status }, merge);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

const conditions = async (): Promise<readonly Condition[]> =>
  ((await server.ask('GET', pipelinePath())).body as { status?: { conditions?: Condition[] } }).status?.conditions ??
  [];

async function untilCondition(type: string, reason: string): Promise<Condition> {
  const seen = await eventually(
    conditions,
    (all) => all.some((condition) => condition.type === type && condition.reason === reason),
    `${type} ${reason}`,
  );
  return seen.find((condition) => condition.type === type)!;
}

async function untilEvent(reason: string): Promise<{ readonly note: string }> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const events = async () =>
    ((await server.ask('GET', path)).body as { items: { reason: string; note: string }[] }).items;
  const seen = await eventually(events, (all) => all.some((event) => event.reason === reason), `an event ${reason}`);
  return seen.find((event) => event.reason === reason)!;
}

const container = (state: object, lastState: object = {}) => [
  { name: 'runner', image: 'a', imageID: '', ready: false, restartCount: 1, state, lastState },
];

const ENDED: Readonly<Record<string, { readonly status: object; readonly reason: string; readonly says: string }>> = {
  'that was evicted': {
    status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    reason: 'RunnerCrashLooping',
    says: 'Evicted: The node was low on resource: memory.',
  },
  'whose node went': {
    status: { phase: 'Failed', reason: 'NodeLost', message: 'Node a which was running pod is unresponsive' },
    reason: 'RunnerCrashLooping',
    says: 'NodeLost',
  },
  'that the kubelet did not admit': {
    status: { phase: 'Failed', reason: 'UnexpectedAdmissionError', message: 'Allocate failed' },
    reason: 'RunnerCrashLooping',
    says: 'UnexpectedAdmissionError: Allocate failed',
  },
  'that was killed for memory': {
    status: {
      phase: 'Failed',
      containerStatuses: container({ terminated: { reason: 'OOMKilled', exitCode: 137 } }),
    },
    reason: 'RunnerOutOfMemory',
    says: 'killed for memory',
  },
};

const STUCK: Readonly<Record<string, { readonly status: object; readonly reason: string; readonly says: string }>> = {
  'whose image cannot be pulled': {
    status: {
      phase: 'Pending',
      containerStatuses: container({ waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "a"' } }),
    },
    reason: 'ImagePullFailed',
    says: 'Back-off pulling image "a"',
  },
  'that no node takes': {
    status: {
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes fit' }],
    },
    reason: 'Unschedulable',
    says: '0/3 nodes fit',
  },
  'whose runner found a table of others': {
    status: {
      phase: 'Running',
      containerStatuses: container(
        { waiting: { reason: 'CrashLoopBackOff' } },
        { terminated: { exitCode: 1, message: 'TargetRefused: target rows: rows was not made by Fairlead' } },
      ),
    },
    reason: 'TargetRefused',
    says: 'rows was not made by Fairlead',
  },
};

describe('a runner pod', () => {
  for (const [name, { status, reason, says }] of Object.entries(ENDED))
    test(`F89: ${name} is replaced by another, with an event and a condition that say why, as often as it ends`, async () => {
      const seen = new Set<string>();
      let [pod] = await makePipeline(1);
      for (let time = 0; time < 2; time++) {
        seen.add(pod!.metadata.uid);
        await say(pod!, status);
        expect((await untilEvent(reason)).note).toContain(says);
        expect((await untilCondition('RunnersAvailable', reason)).message).toContain(says);
        [pod] = await eventually(pods, ([one]) => one !== undefined && !seen.has(one.metadata.uid), 'another pod');
      }
    });

  for (const [name, { status, reason, says }] of Object.entries(STUCK))
    test(`${name} stays, and the condition says why`, async () => {
      const [pod] = await makePipeline(1);
      await say(pod!, status);
      expect((await untilCondition('RunnersAvailable', reason)).message).toContain(says);
      expect((await untilCondition('Ready', reason)).status).toBe('False');
      expect((await pods()).map(({ metadata }) => metadata.uid)).toEqual([pod!.metadata.uid]);
    });
});

describe('a template that changes', () => {
  const join = ({ metadata }: Pod) => {
    const { host } = operator.control.hosts.get(`${namespace}/index`)!;
    const runner = new ScriptedRunner();
    const joined = host.addRunner({
      name: `${metadata.name}/${metadata.uid}`,
      runnerClass: 'default',
      slots: 4,
      runner,
    });
    runner.uplink = joined.uplink;
    return () => host.removeRunner(joined.seat);
  };

  test('replaces pods one by one: the second goes when the runner of the first new one has joined', async () => {
    const old = await makePipeline(2);
    const seats = new Map(old.map((pod) => [pod.metadata.uid, join(pod)]));
    // As the gateway does: the stream of a runner ends with its pod.
    const told = operator.control.podChanged.bind(operator.control);
    operator.control.podChanged = (pod) => {
      const { name, uid = '' } = pod.metadata;
      if (operator.caches.pod(`${namespace}/${name}`)?.metadata.uid !== uid) seats.get(uid)?.();
      told(pod);
    };
    await untilCondition('RunnersAvailable', 'RunnersReady');
    const template = { metadata: { labels: { edition: 'second' } } };
    const runners = [{ name: 'default', replicas: { min: 2, max: 2 }, template }];
    await server.ask('PATCH', pipelinePath(), { spec: { runners } }, merge);
    const isOld = ({ metadata }: Pod) => old.some((pod) => pod.metadata.uid === metadata.uid);

    const [first] = await eventually(
      async () => (await pods()).filter((pod) => !isOld(pod)),
      (all) => all.length > 0,
      'a new pod',
    );
    expect((await untilCondition('Reconciling', 'RunnersStarting')).status).toBe('True');
    expect((await pods()).filter(isOld)).toHaveLength(1);
    seats.set(first!.metadata.uid, join(first!));

    const all = await eventually(pods, (now) => now.length === 2 && !now.some(isOld), 'two new pods');
    expect(all.map(({ metadata }) => metadata.uid)).toContain(first!.metadata.uid);
    join(all.find(({ metadata }) => metadata.uid !== first!.metadata.uid)!);
    await eventually(
      conditions,
      (now) => !now.some(({ type }) => type === 'Reconciling'),
      'nothing is replaced any more',
    );
    expect((await conditions()).find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
  });
});
