// Looks at an installation from outside, one check after another: each says what holds, or what does not and what to do.
import type { KubeConfig } from '@kubernetes/client-node';
import { GROUP, VERSION } from '../../crds/schema/index.ts';
import { reasonOf } from './cluster.ts';
import { operatorRights, yourRights } from './doctor-rights.ts';
import type { Finding } from './finding.ts';
import { leaderOf, OURS, operatorPods } from './leader.ts';

type Check = (config: KubeConfig, namespace: string | undefined) => Promise<Finding | readonly Finding[]>;

/** More than this between the cluster's clock and ours: tokens, leases and signatures begin to fail. */
export const SKEW_MAX_MS = 30_000;
const KINDS = ['pipelines', 'livesources'] as const;

const CHECKS: Readonly<Record<string, Check>> = {
  'API server': apiServer,
  'resource definitions': definitions,
  'your rights': yourRights,
  operator,
  "operator's rights": operatorRights,
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

async function operator(config: KubeConfig, _: string | undefined): Promise<Finding> {
  const check = 'operator';
  const pods = await operatorPods(config);
  if (pods.length === 0)
    return { check, verdict: 'bad', says: 'no pod of it is there: helm install fairlead charts/fairlead' };
  const leader = await leaderOf(config, pods);
  if (leader === undefined)
    return { check, verdict: 'bad', says: `${pods.length} pods, none of them leads: kubectl logs tells why` };
  const { pod, image, restarts } = leader;
  return restarts > 3
    ? { check, verdict: 'warn', says: `${pod} leads (${image}), but has restarted ${restarts} times` }
    : { check, verdict: 'ok', says: `${pod} leads (${image}), ${pods.length} in all` };
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
