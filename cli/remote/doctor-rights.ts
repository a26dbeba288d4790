// What the API server lets people and the operator do, as it says itself.
import type { AuthorizationV1Api, KubeConfig, V1ResourceAttributes } from '@kubernetes/client-node';
import { GROUP, VERSION } from '../../crds/schema/index.ts';
import type { Finding } from './finding.ts';
import { leaderOf } from './leader.ts';

type Wanted = Pick<V1ResourceAttributes, 'group' | 'resource' | 'subresource' | 'verb'>;

const of = (group: string, resource: string, verbs: readonly string[], subresource?: string): Wanted[] =>
  verbs.map((verb) => ({ group, resource, verb, ...(subresource !== undefined && { subresource }) }));

const OBJECTS = ['pipelines', 'livesources'] as const;

const OF_PEOPLE: readonly Wanted[] = [
  ...OBJECTS.flatMap((kind) => of(GROUP, kind, ['get', 'patch'])),
  ...of('', 'pods', ['create'], 'portforward'),
];

/** In each namespace with Pipelines; the chart's roles give it. */
const OF_OPERATOR: readonly Wanted[] = [
  ...OBJECTS.flatMap((kind) => [
    ...of(GROUP, kind, ['list', 'watch', 'patch']),
    ...of(GROUP, kind, ['patch'], 'status'),
  ]),
  ...of('', 'pods', ['list', 'watch', 'create', 'delete']),
  ...of('', 'services', ['create', 'patch']),
  ...of('events.k8s.io', 'events', ['create']),
];

/** In the whole cluster: whether a runner's token is what it says. */
const OF_OPERATOR_ANYWHERE: readonly Wanted[] = of('authentication.k8s.io', 'tokenreviews', ['create']);

const NAMESPACES_MAX = 5;

type Asks = (attributes: V1ResourceAttributes) => Promise<boolean>;

/** Those of `wanted` that are not allowed, in words. */
async function missing(asks: Asks, wanted: readonly Wanted[], namespace: string | undefined): Promise<string[]> {
  const answers = await Promise.all(
    wanted.map(async (one) => {
      const what = one.subresource === undefined ? one.resource : `${one.resource}/${one.subresource}`;
      const isAllowed = await asks({ ...one, ...(namespace !== undefined && { namespace }) });
      return isAllowed ? [] : [`${one.verb} ${what}`];
    }),
  );
  return answers.flat();
}

async function apiOf(config: KubeConfig): Promise<AuthorizationV1Api> {
  const { AuthorizationV1Api: Api } = await import('@kubernetes/client-node');
  return config.makeApiClient(Api);
}

export async function yourRights(config: KubeConfig, namespace: string | undefined): Promise<Finding> {
  const api = await apiOf(config);
  const asks: Asks = async (resourceAttributes) =>
    (await api.createSelfSubjectAccessReview({ body: { spec: { resourceAttributes } } })).status?.allowed === true;
  const lacks = await missing(asks, OF_PEOPLE, namespace);
  const check = 'your rights';
  return lacks.length === 0
    ? { check, verdict: 'ok', says: 'you may look at objects, change them, and reach the operator' }
    : { check, verdict: 'warn', says: `you may not ${lacks.join(', ')}: ask for the role fairlead-edit` };
}

/** None where nobody leads, whose check says so. Who may not ask what others may do is told by the API server's refusal. */
export async function operatorRights(config: KubeConfig, namespace: string | undefined): Promise<Finding[]> {
  const account = (await leaderOf(config))?.account;
  if (account === undefined) return [];
  const api = await apiOf(config);
  const asks: Asks = async (resourceAttributes) =>
    (await api.createSubjectAccessReview({ body: { spec: { user: account, resourceAttributes } } })).status?.allowed ===
    true;
  const check = "operator's rights";
  const lacks = await missing(asks, OF_OPERATOR_ANYWHERE, undefined);
  for (const one of await namespacesWith(config, namespace))
    lacks.push(...(await missing(asks, OF_OPERATOR, one)).map((what) => `${what} in ${one}`));
  return [
    lacks.length === 0
      ? { check, verdict: 'ok', says: `${account} may do what it has to` }
      : { check, verdict: 'bad', says: `${account} may not ${lacks.join(', ')}: apply the roles of the chart` },
  ];
}

/** Namespaces that have Pipelines, some of them. */
async function namespacesWith(config: KubeConfig, namespace: string | undefined): Promise<string[]> {
  if (namespace !== undefined) return [namespace];
  const { CustomObjectsApi } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(CustomObjectsApi);
  const { items } = (await api.listClusterCustomObject({ group: GROUP, version: VERSION, plural: 'pipelines' })) as {
    readonly items: readonly { readonly metadata: { readonly namespace: string } }[];
  };
  return [...new Set(items.map(({ metadata }) => metadata.namespace))].slice(0, NAMESPACES_MAX);
}
