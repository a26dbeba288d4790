// Looks at an installation from outside, one check after another: each says what holds, or what does not and what to do.
import type { KubeConfig } from '@kubernetes/client-node';
import { GROUP, LABELS, VERSION } from '../../crds/schema/index.ts';
import { reasonOf } from './cluster.ts';

export interface Finding {
  readonly check: string;
  /** `warn`: it works, and somebody should look. */
  readonly verdict: 'ok' | 'warn' | 'bad';
  readonly says: string;
}

type Check = (config: KubeConfig, namespace: string | undefined) => Promise<Finding | readonly Finding[]>;

/** More than this between the cluster's clock and ours: tokens, leases and signatures begin to fail. */
export const SKEW_MAX_MS = 30_000;
const OURS = 'app.kubernetes.io/name=fairlead';
const KINDS = ['pipelines', 'livesources'] as const;

const CHECKS: Readonly<Record<string, Check>> = {
  'API server': apiServer,
  'resource definitions': definitions,
  'your rights': rights,
  operator,
  gateway,
  objects: objects,
};

/** Runs every check; one that fails does not keep the others from running. */
export async function examine(config: KubeConfig, namespace: string | undefined): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [check, run] of Object.entries(CHECKS)) {
    try {
      findings.push(...[await run(config, namespace)].flat());
    } catch (error) {
      // Who may not look has found nothing wrong.
      const verdict = (error as { code?: unknown }).code === 403 ? 'warn' : 'bad';
      findings.push({ check, verdict, says: reasonOf(error) });
    }
  }
  return findings;
}

async function apiServer(config: KubeConfig): Promise<Finding> {
  const { VersionApi } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(VersionApi);
  const askedMs = Date.now();
  const { info, date } = await withDate(api.getCodeWithHttpInfo());
  const skewMs = date === undefined ? 0 : Math.abs(date - (askedMs + Date.now()) / 2);
  if (skewMs > SKEW_MAX_MS)
    return {
      check: 'API server',
      verdict: 'bad',
      says: `version ${info}, but its clock and this one are ${Math.round(skewMs / 1000)} s apart: set them by NTP`,
    };
  return { check: 'API server', verdict: 'ok', says: `answers, version ${info}; clocks agree` };
}

async function withDate(
  asked: Promise<{ readonly data: { readonly gitVersion: string }; readonly headers: Record<string, string> }>,
): Promise<{ readonly info: string; readonly date: number | undefined }> {
  const { data, headers } = await asked;
  const stamp = Date.parse(headers.date ?? '');
  return { info: data.gitVersion, date: Number.isNaN(stamp) ? undefined : stamp };
}

async function definitions(config: KubeConfig): Promise<Finding[]> {
  const { ApiextensionsV1Api } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(ApiextensionsV1Api);
  return Promise.all(
    KINDS.map(async (kind): Promise<Finding> => {
      const check = `${kind}.${GROUP}`;
      try {
        const { spec } = await api.readCustomResourceDefinition({ name: check });
        const isServed = spec.versions.some(({ name, served }) => name === VERSION && served);
        return isServed
          ? { check, verdict: 'ok', says: `served as ${VERSION}` }
          : { check, verdict: 'bad', says: `${VERSION} is not served: apply the CRDs of this version of the chart` };
      } catch (error) {
        return { check, verdict: 'bad', says: `${reasonOf(error)}: install the chart, or its CRDs` };
      }
    }),
  );
}

/** What a user of Fairlead needs; what the operator may do is the chart's and shows in its own logs. */
async function rights(config: KubeConfig, namespace: string | undefined): Promise<Finding[]> {
  const { AuthorizationV1Api } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(AuthorizationV1Api);
  const wanted = [
    ...KINDS.flatMap((resource) => ['get', 'patch'].map((verb) => ({ group: GROUP, resource, verb }))),
    { group: '', resource: 'pods', subresource: 'portforward', verb: 'create' },
  ];
  const answers = await Promise.all(
    wanted.map(async (attributes) => {
      const body = { spec: { resourceAttributes: { ...attributes, ...(namespace !== undefined && { namespace }) } } };
      const { status } = await api.createSelfSubjectAccessReview({ body });
      const { resource, verb } = attributes;
      const what = 'subresource' in attributes ? `${resource}/${attributes.subresource}` : resource;
      return { what: `${verb} ${what}`, isAllowed: status?.allowed === true };
    }),
  );
  const missing = answers.filter(({ isAllowed }) => !isAllowed).map(({ what }) => what);
  return [
    missing.length === 0
      ? { check: 'your rights', verdict: 'ok', says: 'you may look at objects, change them, and reach the operator' }
      : {
          check: 'your rights',
          verdict: 'warn',
          says: `you may not ${missing.join(', ')}: ask for the role fairlead-edit`,
        },
  ];
}

async function operator(config: KubeConfig, _: string | undefined): Promise<Finding> {
  const { CoreV1Api } = await import('@kubernetes/client-node');
  const core = config.makeApiClient(CoreV1Api);
  const { items } = await core.listPodForAllNamespaces({
    labelSelector: `${OURS},app.kubernetes.io/component=operator`,
  });
  const leader = items.find(({ metadata }) => metadata?.labels?.[LABELS.leader] === 'true');
  const image = leader?.spec?.containers[0]?.image;
  if (items.length === 0)
    return { check: 'operator', verdict: 'bad', says: 'no pod of it is there: helm install fairlead charts/fairlead' };
  if (leader === undefined)
    return {
      check: 'operator',
      verdict: 'bad',
      says: `${items.length} pods, none of them leads: kubectl logs tells why`,
    };
  const name = `${leader.metadata?.namespace}/${leader.metadata?.name}`;
  const restarts = leader.status?.containerStatuses?.[0]?.restartCount ?? 0;
  return restarts > 3
    ? { check: 'operator', verdict: 'warn', says: `${name} leads (${image}), but has restarted ${restarts} times` }
    : { check: 'operator', verdict: 'ok', says: `${name} leads (${image}), ${items.length} in all` };
}

/** The Service that runners dial: its only endpoint is the leader. */
async function gateway(config: KubeConfig, _: string | undefined): Promise<Finding | readonly Finding[]> {
  const { CoreV1Api, DiscoveryV1Api } = await import('@kubernetes/client-node');
  const services = await config.makeApiClient(CoreV1Api).listServiceForAllNamespaces({ labelSelector: OURS });
  const link = services.items.find(({ spec }) => spec?.ports?.some(({ name }) => name === 'link') === true);
  const { name, namespace } = link?.metadata ?? {};
  if (name === undefined || namespace === undefined) return []; // nothing is installed: the operator's check says so
  const discovery = config.makeApiClient(DiscoveryV1Api);
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const { items } = await discovery.listNamespacedEndpointSlice({ namespace, labelSelector });
  const ready = items
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false);
  const check = 'gateway';
  return ready.length > 0
    ? { check, verdict: 'ok', says: `runners reach the leader by ${name}.${namespace}.svc` }
    : { check, verdict: 'bad', says: `no leader is behind the Service ${namespace}/${name}: runners cannot connect` };
}

interface Listed {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

/** Sources, targets, state and runner pods show as conditions of the objects that need them. */
async function objects(config: KubeConfig, namespace: string | undefined): Promise<Finding[]> {
  const { CustomObjectsApi } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(CustomObjectsApi);
  const findings: Finding[] = [];
  for (const plural of KINDS) {
    const of = { group: GROUP, version: VERSION, plural };
    const list = (await (namespace === undefined
      ? api.listClusterCustomObject(of)
      : api.listNamespacedCustomObject({ ...of, namespace }))) as { items: Listed[] };
    const bad = list.items.flatMap(({ metadata, status }) => {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      if (ready?.status === 'True') return [];
      const why = ready === undefined ? 'no operator has looked at it' : `${ready.reason}: ${ready.message}`;
      return [
        { check: `${plural.slice(0, -1)} ${metadata.namespace}/${metadata.name}`, verdict: 'bad' as const, says: why },
      ];
    });
    const count = list.items.length - bad.length;
    findings.push({ check: plural, verdict: 'ok', says: `${count} of ${list.items.length} are ready` }, ...bad);
  }
  return findings;
}
