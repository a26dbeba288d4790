// Cards that do not exist, on every node: a device plugin of the kubelet (e2e/services/device-plugin.mjs).
import { fileURLToPath } from 'node:url';
import { e2eFile, Place } from './place.ts';
import { run } from './programs.ts';
import { isLiving, type Seen, until } from './watch.ts';

export const CARD = 'nvidia.com/gpu';

/** Where the plugin runs: it needs the kubelet's folder, so its namespace is the system's. */
const SYSTEM = new Place('kube-system');

/** Offers four cards on each node; resolves when the API server shows them. */
export async function offerCards(): Promise<void> {
  const program = fileURLToPath(e2eFile('services/device-plugin.mjs'));
  const configMap = [
    'create',
    'configmap',
    'device-plugin',
    `--from-file=${program}`,
    '--dry-run=client',
    '-o',
    'json',
  ];
  await SYSTEM.apply(await run('kubectl', configMap));
  await SYSTEM.apply({ file: 'services/device-plugin.yaml' });
  await until({ kind: 'nodes' }, (nodes) => nodes.some((node) => cardsOf(node) === 4), 'a node offers four cards');
}

/** Takes the plugin away; what nodes offer goes with it. */
export async function withdrawCards(): Promise<void> {
  await SYSTEM.kubectl('delete', 'daemonset,configmap', 'device-plugin', '--ignore-not-found', '--timeout=60s');
}

function cardsOf({ status }: Seen): number {
  const allocatable = status?.allocatable as Readonly<Record<string, string>> | undefined;
  return Number(allocatable?.[CARD] ?? 0);
}

/** Runner pods with a card that are not being deleted. */
export const withCards = (pods: readonly Seen[]): readonly Seen[] =>
  pods.filter((pod) => isLiving(pod) && pod.metadata.labels?.['fairlead.dev/runner-class'] === 'card');

export const running = (pods: readonly Seen[]): readonly Seen[] =>
  pods.filter((pod) => pod.status?.phase === 'Running');
