// Blueprints: Pipeline in, pod out; B1 to B3 are the invariants at the head of operator/blueprint/template.ts.
import { describe, expect, test } from 'vitest';
import { type Pipeline, parsePipeline } from '../../crds/schema/index.ts';
import {
  bounded,
  FINGERPRINT,
  overlay,
  type RunnerPodSettings,
  type RunnerPodWish,
  runnerPod,
  runnerPodName,
  SecretNames,
} from '../../operator/blueprint/index.ts';

const SETTINGS: RunnerPodSettings = {
  image: 'fairlead:dev',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  operatorAddress: 'fairlead-operator.fairlead.svc:7443',
  operatorCa: 'PEM',
  audience: 'fairlead',
  version: '0.1.0',
  graceS: 60,
  inherited: ['kueue.x-k8s.io/queue-name'],
};

function pipelineWith(runner: object): Pipeline {
  const parsed = parsePipeline({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Pipeline',
    metadata: {
      name: 'code-index',
      namespace: 'search',
      uid: 'uid-1',
      labels: { 'kueue.x-k8s.io/queue-name': 'team', other: 'x' },
    },
    spec: {
      state: { postgres: { urlFrom: { secretKeyRef: { name: 'index.db', key: 'url' } } } },
      runners: [{ name: 'gpu', replicas: { max: 4 }, ...runner }],
      component: { steps: [{ read: {} }, { export: { target: 'rows' } }] },
      targets: [{ name: 'rows', jsonl: { path: '/tmp/rows.jsonl' } }],
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

function wish(runner: object = {}, more: Partial<RunnerPodWish> = {}): RunnerPodWish {
  const pipeline = pipelineWith(runner);
  return {
    pipeline,
    runner: pipeline.spec.runners[0]!,
    ordinal: 0,
    secrets: ['index.db'],
    settings: SETTINGS,
    ...more,
  };
}

interface PodSpec {
  containers: {
    name: string;
    image: string;
    env: { name: string; value?: string }[];
    resources: unknown;
    securityContext: unknown;
  }[];
  tolerations?: unknown[];
  volumes: { name: string; secret?: unknown }[];
  securityContext: object;
  schedulerName?: string;
}
const specOf = (w: RunnerPodWish): PodSpec => runnerPod(w).spec as unknown as PodSpec;
const fingerprintOf = (w: RunnerPodWish): string => runnerPod(w).metadata.annotations[FINGERPRINT]!;

describe('the pod of a runner', () => {
  test('has a name that follows from Pipeline, class and ordinal, and no two of them meet in one name', () => {
    expect(runnerPod(wish()).metadata.name).toBe(runnerPodName('code-index', 'gpu', 0));
    expect(runnerPodName('a', 'b-c', 0)).not.toBe(runnerPodName('a-b', 'c', 0));
    expect(runnerPodName('x'.repeat(52), 'y'.repeat(63), 12)).toHaveLength(63);
  });

  test('belongs to its Pipeline by uid and goes with it', () => {
    const [reference] = runnerPod(wish()).metadata.ownerReferences;
    expect(reference).toMatchObject({ kind: 'Pipeline', name: 'code-index', uid: 'uid-1', controller: true });
  });

  test('passes Pod Security "restricted"', () => {
    const spec = specOf(wish());
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(spec.containers[0]!.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(spec).toMatchObject({ automountServiceAccountToken: false });
  });

  test('asks for its cards whole, of the resource that the class names, and tolerates their taint', () => {
    const spec = specOf(wish({ gpus: 2, resourceName: 'nvidia.com/mig-1g.10gb' }));
    expect(spec.containers[0]!.resources).toEqual({ limits: { 'nvidia.com/mig-1g.10gb': '2' } });
    expect(spec.tolerations).toEqual([{ key: 'nvidia.com/mig-1g.10gb', operator: 'Exists', effect: 'NoSchedule' }]);
    expect(specOf(wish()).tolerations).toBeUndefined();
  });

  test('leaves the cards to a model server beside the runner that asks for them: a device belongs to one container', () => {
    const server = { name: 'tei', image: 'tei:1', resources: { limits: { 'nvidia.com/gpu': 1 } } };
    for (const list of ['containers', 'initContainers']) {
      const spec = specOf(wish({ gpus: 1, template: { spec: { [list]: [server] } } }));
      expect(spec.containers[0]!.resources, list).toEqual({});
      expect(spec.tolerations).toHaveLength(1);
    }
    const other = { ...server, resources: { limits: { memory: '1Gi' } } };
    const spec = specOf(wish({ gpus: 1, template: { spec: { containers: [other] } } }));
    expect(spec.containers[0]!.resources).toEqual({ limits: { 'nvidia.com/gpu': '1' } });
  });

  test('mounts the Secrets that the spec names, under names that volumes may have', () => {
    const { volumes } = specOf(wish());
    expect(volumes.filter(({ secret }) => secret !== undefined)).toEqual([
      {
        name: expect.stringMatching(/^secret-index-db-[0-9a-f]{5}$/),
        secret: { secretName: 'index.db', defaultMode: 0o440, optional: true },
      },
    ]);
  });

  test('inherits only the labels that the installation lists', () => {
    const { labels } = runnerPod(wish()).metadata;
    expect(labels['kueue.x-k8s.io/queue-name']).toBe('team');
    expect(labels.other).toBeUndefined();
  });

  test('B1, B2: a template adds a sidecar, a variable and a toleration, and keeps what it does not name', () => {
    const template = {
      metadata: { labels: { team: 'search' } },
      spec: {
        schedulerName: 'kai-scheduler',
        tolerations: [{ key: 'spot', operator: 'Exists' }],
        containers: [
          {
            name: 'runner',
            env: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
            resources: { requests: { cpu: '2' } },
          },
          { name: 'tei', image: 'text-embeddings-inference:1' },
        ],
      },
    };
    const pod = runnerPod(wish({ gpus: 1, template }));
    const spec = pod.spec as unknown as PodSpec;
    expect(spec.containers.map(({ name }) => name)).toEqual(['runner', 'tei']);
    expect(spec.containers[0]).toMatchObject({
      image: 'fairlead:dev',
      resources: { limits: { 'nvidia.com/gpu': '1' }, requests: { cpu: '2' } },
    });
    expect(spec.containers[0]!.env.map(({ name }) => name)).toContain('FAIRLEAD_POD_NAME');
    expect(spec.containers[0]!.env.at(-1)).toEqual({ name: 'HTTPS_PROXY', value: 'http://proxy:3128' });
    expect(spec.tolerations).toHaveLength(2);
    expect(spec.schedulerName).toBe('kai-scheduler');
    expect(pod.metadata.labels.team).toBe('search');
  });

  test('B3: a template cannot take the labels away that pods are found by', () => {
    const template = { metadata: { labels: { 'fairlead.dev/owner-uid': 'somebody-else' } } };
    expect(runnerPod(wish({ template })).metadata.labels['fairlead.dev/owner-uid']).toBe('uid-1');
  });

  test('changes its fingerprint with whatever needs a new pod, and with nothing else', () => {
    const plain = fingerprintOf(wish());
    expect(fingerprintOf(wish({}, { ordinal: 3 }))).toBe(plain);
    expect(fingerprintOf(wish({ replicas: { min: 1, max: 9 }, idleAfter: '1h' }))).toBe(plain);
    expect(fingerprintOf(wish({ slots: 8 }))).not.toBe(plain);
    expect(fingerprintOf(wish({}, { secrets: ['index.db', 'git'] }))).not.toBe(plain);
    expect(fingerprintOf(wish({}, { settings: { ...SETTINGS, image: 'fairlead:next' } }))).not.toBe(plain);
    expect(fingerprintOf(wish({ template: { spec: { nodeSelector: { gpu: 'a100' } } } }))).not.toBe(plain);
  });
});

test('secrets are found wherever a spec refers to one, but not inside a pod template', () => {
  const pipeline = pipelineWith({
    template: {
      spec: { containers: [{ name: 'x', env: [{ valueFrom: { secretKeyRef: { name: 'own', key: 'k' } } }] }] },
    },
  });
  expect(new SecretNames().of(pipeline.spec, [])).toEqual(['index.db']);
});

test('a bounded name keeps short names as they are and stays distinct for long ones', () => {
  expect(bounded('short')).toBe('short');
  expect(bounded('a'.repeat(70))).not.toBe(bounded('a'.repeat(71)));
});

test('laying over changes neither of the two', () => {
  const base = Object.freeze({ containers: Object.freeze([Object.freeze({ name: 'a', image: '1' })]) });
  expect(overlay(base, { containers: [{ name: 'a', image: '2' }] })).toEqual({
    containers: [{ name: 'a', image: '2' }],
  });
  expect(base.containers[0]!.image).toBe('1');
});
