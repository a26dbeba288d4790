// The chart with many sets of values: it lints, a real API server accepts every object, the pods pass restricted Pod Security, and values
// that make no sense are refused with their name. Needs helm in PATH.
import { execFileSync, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';

const hasHelm = spawnSync('helm', ['version']).status === 0;
if (!hasHelm) process.stderr.write('chart: helm is not in PATH, so the chart is not rendered\n');

interface Rendered {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly spec?: Record<string, unknown>;
  readonly rules?: readonly {
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

interface ValueSet {
  readonly values: Readonly<Record<string, unknown>>;
  readonly release?: string;
  /** Kinds and names that must be there, such as "PodDisruptionBudget/fairlead". */
  readonly has?: readonly string[];
  /** Kinds that must not. */
  readonly lacks?: readonly string[];
}

const DIGEST = `sha256:${'ab'.repeat(32)}`;

const SETS: Readonly<Record<string, ValueSet>> = {
  'no values': {
    values: {},
    has: [
      'Job/fairlead-let-go',
      'Deployment/fairlead',
      'ClusterRole/fairlead-fairlead',
      'CustomResourceDefinition/pipelines.fairlead.dev',
    ],
    lacks: ['PodDisruptionBudget', 'NetworkPolicy', 'ServiceMonitor'],
  },
  'two replicas': { values: { replicas: 2 }, has: ['PodDisruptionBudget/fairlead'] },
  'two replicas without a budget for disruptions': {
    values: { replicas: 2, podDisruptionBudget: { enabled: false } },
    lacks: ['PodDisruptionBudget'],
  },
  'namespaces of its own': {
    values: { watchNamespaces: ['search', 'docs'], cards: { budget: { 'nvidia.com/gpu': 8 }, weights: { search: 2 } } },
    has: ['Role/fairlead', 'RoleBinding/fairlead'],
  },
  'definitions managed apart': { values: { crds: { enabled: false } }, lacks: ['CustomResourceDefinition'] },
  'a release of another name, as long as Helm allows': {
    values: { replicas: 2, networkPolicy: { enabled: true } },
    release: 'long-'.repeat(10).padEnd(53, 'x'),
  },
  'an image by digest, pull secrets, a mirror': {
    values: {
      image: { repository: 'mirror.example.com/fairlead', digest: DIGEST, pullPolicy: 'Always' },
      imagePullSecrets: ['mirror', 'other'],
    },
  },
  'an exposed API': {
    values: { api: { mode: 'exposed', tokenSecret: { name: 'fairlead-api', key: 'token' } } },
  },
  'a network policy for an exposed API, with rules for what goes out': {
    values: {
      api: { mode: 'exposed', tokenSecret: { name: 'fairlead-api', key: 'token' } },
      networkPolicy: {
        enabled: true,
        egress: [{ to: [{ ipBlock: { cidr: '10.96.0.1/32' } }], ports: [{ port: 443 }] }],
      },
    },
    has: ['NetworkPolicy/fairlead'],
  },
  'no API': { values: { api: { mode: 'off' } } },
  'alerts, a dashboard and traces': {
    values: {
      prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
      grafanaDashboard: { enabled: true, labels: { grafana_dashboard: 'yes' } },
      traces: { endpoint: 'http://otel-collector.monitoring:4318', protocol: 'grpc', ratio: 0.1 },
    },
    has: ['PrometheusRule/fairlead', 'ConfigMap/fairlead-dashboard'],
  },
  'nothing before an uninstall': { values: { letGo: { enabled: false } }, lacks: ['Job'] },
  'everything at once': {
    values: {
      prometheusRule: { enabled: true },
      grafanaDashboard: { enabled: true },
      traces: { endpoint: 'http://collector:4318' },
      replicas: 3,
      networkPolicy: { enabled: true },
      serviceMonitor: { enabled: true, interval: '15s', labels: { release: 'prometheus' } },
      operator: {
        maxInflightComponents: 64,
        logLevel: 'debug',
        extraArgs: ['--card-weight=a=1'],
        extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
      },
      runner: { gracePeriod: '5m', inherit: ['kueue.x-k8s.io/queue-name'] },
      serviceAccount: { name: 'somebody', annotations: { 'example.com/role': 'x' } },
      podAnnotations: { 'example.com/a': 'b' },
      podLabels: { team: 'search' },
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { team: 'search' } },
        },
      ],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'system-cluster-critical',
      resources: { requests: { cpu: '1', memory: '1Gi' } },
    },
    has: ['NetworkPolicy/fairlead', 'ServiceMonitor/fairlead', 'PodDisruptionBudget/fairlead'],
  },
};

const REFUSED: Readonly<Record<string, { readonly values: object; readonly names: string }>> = {
  'a misspelt value': { values: { replica: 2 }, names: 'replica' },
  'a misspelt value below another': { values: { image: { name: 'x' } }, names: 'name' },
  'a tag that is no text': { values: { image: { tag: 1 } }, names: 'tag' },
  'a duration without a unit': { values: { operator: { leaseTimeout: '120' } }, names: 'leaseTimeout' },
  'a digest that is none': { values: { image: { digest: 'latest' } }, names: 'digest' },
  'too many replicas': { values: { replicas: 100 }, names: 'replicas' },
  'an exposed API without a token': { values: { api: { mode: 'exposed' } }, names: 'tokenSecret' },
};

/** Kinds of operators that are not here. */
const FOREIGN = new Set(['ServiceMonitor', 'PrometheusRule']);

const helm = (verb: string, release: string, values: object) =>
  spawnSync(
    'helm',
    [
      verb,
      ...(verb === 'lint' ? [] : [release]),
      'charts/fairlead',
      '-n',
      'fairlead',
      '--kube-version',
      '1.34.0',
      '-f',
      '-',
    ],
    { input: JSON.stringify(values), encoding: 'utf8' },
  );

function render({ values, release = 'fairlead' }: ValueSet): Rendered[] {
  const { status, stdout, stderr } = helm('template', release, values);
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
}

/** The pod that an object is or makes. */
function podOf({ kind, spec }: Rendered): object | undefined {
  if (kind === 'Pod') return spec;
  return kind === 'Deployment' || kind === 'Job' ? (spec as { template: { spec: object } }).template.spec : undefined;
}

describe.skipIf(!hasHelm)('the chart', () => {
  let server: ApiServer;
  const rendered = new Map<string, readonly Rendered[]>();

  beforeAll(async () => {
    server = await startApiServer();
    const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    for (const name of ['fairlead', 'search', 'docs'])
      await server.ask('POST', '/api/v1/namespaces', { metadata: { name, labels: restricted } });
    await server.ask('POST', '/api/v1/namespaces/fairlead/serviceaccounts', { metadata: { name: 'default' } });
  });
  afterAll(() => server?.stop());

  for (const [name, set] of Object.entries(SETS)) {
    test(`with ${name}: lints, renders, an API server accepts every object, and pods pass restricted Pod Security`, async () => {
      const linted = helm('lint', '', set.values);
      expect(linted.status, linted.stdout).toBe(0);
      const objects = render(set);
      rendered.set(name, objects);
      await accepted(objects.filter(({ kind }) => !FOREIGN.has(kind)));
      const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
      expect(names).toEqual(expect.arrayContaining([...(set.has ?? [])]));
      const kinds = new Set(objects.map(({ kind }) => kind));
      expect((set.lacks ?? []).filter((kind) => kinds.has(kind))).toEqual([]);
    });
  }

  async function accepted(items: readonly Rendered[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const applied = await server.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], list);
    expect(applied.code, applied.stderr).toBe(0);
    expect(applied.stderr).not.toMatch(/would violate|unknown field|Warning/);
    for (const pod of items.map(podOf).filter((spec) => spec !== undefined)) {
      const body = { metadata: { name: 'tried' }, spec: { ...pod, serviceAccountName: 'default' } };
      const answer = await server.ask('POST', '/api/v1/namespaces/fairlead/pods?dryRun=All', body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    }
  }

  test('with namespaces of its own no rights of the whole cluster are given but reviews of tokens and roles for people', () => {
    const objects = rendered.get('namespaces of its own')!;
    const roles = objects.filter(({ kind }) => kind === 'ClusterRole').map(({ metadata }) => metadata.name);
    expect(roles.filter((name) => !/-(tokens|view|edit|admin)$/.test(name))).toEqual([]);
    const scopes = objects.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.namespace);
    expect(new Set(scopes)).toEqual(new Set(['fairlead', 'search', 'docs']));
  });

  test('no set of values gives a wildcard, or reads Secrets other than its own', () => {
    for (const { rules = [], metadata } of [...rendered.values()].flat()) {
      expect(JSON.stringify(rules), metadata.name).not.toContain('"*"');
      for (const rule of rules.filter(
        ({ resources, verbs }) => resources.includes('secrets') && verbs.join() !== 'create',
      ))
        expect(rule.resourceNames, metadata.name).toHaveLength(1);
    }
  });

  test('a network policy lets in what the operator listens for, and out only where rules say so', () => {
    interface Policy {
      readonly policyTypes: readonly string[];
      readonly ingress: readonly { readonly ports: readonly { readonly port: string }[] }[];
      readonly egress?: readonly { readonly ports: readonly { readonly port: number }[] }[];
    }
    const policyOf = (set: string) =>
      rendered.get(set)!.find(({ kind }) => kind === 'NetworkPolicy')!.spec as unknown as Policy;
    const portsOf = (rules: Policy['ingress'] | Policy['egress'] = []) =>
      rules.flatMap(({ ports }) => ports.map(({ port }) => port));
    const closed = policyOf('a network policy for an exposed API, with rules for what goes out');
    expect(portsOf(closed.ingress)).toEqual(['link', 'http', 'api']);
    expect([closed.policyTypes, portsOf(closed.egress)]).toEqual([
      ['Ingress', 'Egress'],
      [53, 53, 443],
    ]);
    const open = policyOf('everything at once');
    expect([open.policyTypes, open.egress, portsOf(open.ingress)]).toEqual([['Ingress'], undefined, ['link', 'http']]);
  });

  test('traces, alerts and the dashboard arrive as they were set', () => {
    const objects = rendered.get('alerts, a dashboard and traces')!;
    const find = (kind: string) =>
      objects.find((object) => object.kind === kind) as unknown as {
        readonly metadata: { readonly labels: Record<string, string> };
        readonly data: Record<string, string>;
        readonly spec: { readonly groups: readonly { readonly rules: readonly unknown[] }[] };
      };
    const pod = podOf(objects.find(({ kind }) => kind === 'Deployment')!) as {
      readonly containers: readonly [{ readonly env: readonly { readonly name: string; readonly value?: string }[] }];
    };
    const environment = Object.fromEntries(pod.containers[0].env.map(({ name, value }) => [name, value]));
    expect(environment).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel-collector.monitoring:4318',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    });
    expect(find('PrometheusRule').metadata.labels).toMatchObject({ release: 'prometheus' });
    expect(find('PrometheusRule').spec.groups.flatMap(({ rules }) => rules).length).toBeGreaterThan(5);
    expect(find('ConfigMap').metadata.labels).toMatchObject({ grafana_dashboard: 'yes' });
    expect(JSON.parse(find('ConfigMap').data['fairlead.json']!)).toMatchObject({
      title: expect.stringMatching('Fairlead'),
    });
  });

  test('what runs before an uninstall has rights of its own, for as long as it runs, and a bound in time', () => {
    for (const [name, objects] of rendered) {
      const hooks = objects.filter(({ metadata }) => /-let-go(-objects)?$/.test(metadata.name)) as unknown as {
        readonly kind: string;
        readonly metadata: { readonly name: string; readonly annotations: Record<string, string> };
        readonly spec: { readonly activeDeadlineSeconds: number };
      }[];
      for (const { metadata } of hooks)
        expect(metadata.annotations, `${name}: ${metadata.name}`).toMatchObject({
          'helm.sh/hook': 'pre-delete',
          'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
        });
      const jobs = hooks.filter(({ kind }) => kind === 'Job');
      expect(jobs.map(({ spec }) => spec.activeDeadlineSeconds)).toEqual(hooks.length === 0 ? [] : [150]);
    }
  });

  test('every object carries the labels of the release; names fit, however long that of the release is', () => {
    for (const [name, objects] of rendered) {
      for (const { kind, metadata } of objects) {
        if (kind === 'Service' || kind === 'Pod') expect(metadata.name.length, metadata.name).toBeLessThanOrEqual(63);
        if (kind === 'CustomResourceDefinition') continue;
        const release = SETS[name]?.release ?? 'fairlead';
        expect(metadata.labels?.['app.kubernetes.io/instance'], `${kind}/${metadata.name}`).toBe(release);
      }
    }
  });

  for (const [name, { values, names }] of Object.entries(REFUSED)) {
    test(`${name} is refused, and named`, () => {
      const { status, stderr } = helm('template', 'fairlead', values);
      expect(status).not.toBe(0);
      expect(stderr).toContain(names);
    });
  }

  test('the notes tell the next step, and warn where one replica is alone', () => {
    const notes = (values: object) =>
      execFileSync(
        'helm',
        ['install', 'fairlead', 'charts/fairlead', '-n', 'fairlead', '--dry-run=client', '-f', '-'],
        {
          input: JSON.stringify(values),
          encoding: 'utf8',
          env: { ...process.env, KUBECONFIG: server.kubeconfig },
        },
      ).replace(/^[\s\S]*NOTES:/, '');
    expect(notes({})).toContain('kubectl get fairlead');
    expect(notes({})).toContain('replicas=2');
    expect(notes({ replicas: 2 })).not.toContain('With one replica');
    expect(notes({ crds: { enabled: false } })).toContain('crds/manifests');
    expect(notes({ watchNamespaces: ['search'] })).toContain('search');
    expect(notes({})).toContain('Before you uninstall, delete LiveSources');
    expect(notes({ letGo: { enabled: false } })).toContain('hang in their deletion');
  });
});
