// The rights that the chart gives are those that the operator uses: it runs under them, no call is refused, and no right is left unused.
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Operator } from '../../operator/service/index.ts';
import { MINIMAL_PIPELINE, MINIMAL_SOURCE, type Plain } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { wholeOperator } from '../support/operator.ts';

const hasHelm = (() => {
  try {
    execFileSync('helm', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('rbac: helm is not in PATH, so the rights of the chart are not compared\n');
    return false;
  }
})();

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Rights as lines, such as "fairlead.dev/pipelines/status patch". */
const rightsOf = (rules: readonly Rule[]): string[] =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`))),
  );

/** The right that a call needs; a read of a collection is a list or a watch. */
function rightsFor(method: string, path: string): string[] {
  const [, group = '', rest = ''] =
    /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)\/(?:namespaces\/[^/]+\/)?(.*)$/.exec(path) ?? [];
  const [plural, name, subresource] = rest.split('/');
  const resource = `${group}/${plural}${subresource === undefined ? '' : `/${subresource}`}`;
  if (method === 'GET') return name === undefined ? [`${resource} list`, `${resource} watch`] : [`${resource} get`];
  const verbs: Record<string, string> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  return [`${resource} ${verbs[method]}`];
}

/** Granted for what the API server checks by itself: owner references that block, and `get` beside list and watch. */
const UNSEEN = [
  'fairlead.dev/pipelines/finalizers update',
  'fairlead.dev/livesources/finalizers update',
  'fairlead.dev/pipelines get',
  'fairlead.dev/livesources get',
  '/pods get',
  '/nodes get',
  '/secrets update', // once in sixty days
  '/services create', // asked for by an apply of what is not there yet
  'events.k8s.io/events patch', // where an event repeats
];

describe.skipIf(!hasHelm)('the rights of the chart', () => {
  let server: ApiServer;
  /** All but documents of the API itself, which every account may read. */
  const calls: { readonly method: string; readonly path: string; readonly code: number }[] = [];

  beforeAll(async () => {
    server = await startApiServer();
    await installCrds(server);
    await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'fairlead' } });
  });
  afterAll(() => server?.stop());

  test('suffice for an index that comes and goes, and none of them is left unused', async () => {
    const yaml = execFileSync(
      'helm',
      [
        'template',
        'fairlead',
        'charts/fairlead',
        '-n',
        'fairlead',
        '-s',
        'templates/rbac.yaml',
        '--kube-version',
        '1.34.0',
      ],
      { encoding: 'utf8' },
    );
    const applied = await server.kubectl(['apply', '-f', '-'], yaml);
    expect(applied.code, applied.stderr).toBe(0);
    const pod = {
      metadata: { name: 'op-0' },
      spec: { serviceAccountName: 'fairlead', containers: [{ name: 'a', image: 'a' }] },
    };
    await server.ask('POST', '/api/v1/namespaces/fairlead/pods', pod);
    const rules = parseAllDocuments(yaml).flatMap(
      (document) => (document.toJS() as { rules?: Rule[] } | null)?.rules ?? [],
    );
    const token = await tokenOf();
    await untilGiven(token, rightsOf(rules));
    const operator = await start(token);
    const at = (plural: string, name = '') =>
      `/apis/fairlead.dev/v1alpha1/namespaces/default/${plural}${name && `/${name}`}`;
    await server.ask('POST', at('pipelines'), { ...MINIMAL_PIPELINE, metadata: { name: 'index' } });
    const spec = { ...(MINIMAL_SOURCE.spec as Plain), pipelineRef: { name: 'index' } };
    await server.ask('POST', at('livesources'), { ...MINIMAL_SOURCE, metadata: { name: 'docs' }, spec });
    const source = { push: { secretFrom: { secretKeyRef: { name: 'key', key: 'key' } } } };
    const pushed = { pipelineRef: { name: 'index' }, mode: 'Watch', source };
    await server.ask('POST', at('livesources'), { ...MINIMAL_SOURCE, metadata: { name: 'tickets' }, spec: pushed });
    const saw = (method: string, end: string) =>
      calls.some(({ method: did, path }) => did === method && path.endsWith(end));
    await eventually(
      () =>
        saw('POST', '/pods') && saw('POST', '/events') && saw('PATCH', 'docs/status') && saw('PATCH', '/push-index'),
      Boolean,
      'the index is followed',
    );
    await server.ask(
      'PATCH',
      at('pipelines', 'index'),
      { spec: { suspend: true } },
      { contentType: 'application/merge-patch+json' },
    );
    await eventually(() => calls.some(({ method }) => method === 'DELETE'), Boolean, 'the runner goes');
    await operator.stop();
    expect(calls.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    const used = new Set(calls.flatMap(({ method, path }) => rightsFor(method, path)));
    const unused = rightsOf(rules).filter((right) => !used.has(right) && !UNSEEN.includes(right));
    expect(unused.filter((right) => !right.startsWith('authentication.k8s.io'))).toEqual([]);
    expect([...used].filter((right) => !rightsOf(rules).includes(right))).toEqual([]);
  });

  /** The API server hears of roles that were just made a moment later. */
  async function untilGiven(token: string, rights: readonly string[]): Promise<void> {
    const given = async () => {
      const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
      const { body } = await server.ask('POST', path, { spec: { namespace: 'fairlead' } }, { token });
      return rightsOf((body as { status: { resourceRules: Rule[] } }).status.resourceRules);
    };
    await eventually(given, (all) => rights.every((right) => all.includes(right)), 'the rights are in force');
  }

  async function tokenOf(): Promise<string> {
    const path = '/api/v1/namespaces/fairlead/serviceaccounts/fairlead/token';
    const answer = await server.ask('POST', path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    });
    return (answer.body as { status: { token: string } }).status.token;
  }

  async function start(token: string): Promise<Operator> {
    const { made } = wholeOperator({
      url: server.url,
      token,
      name: 'op-0',
      port: 17_463,
      requests: {
        requestEnded: (method, path, code) => {
          if (!path.startsWith('/openapi/')) calls.push({ method, path, code });
        },
        requestRetried: () => {},
      },
    });
    await made.start();
    return made;
  }
});
