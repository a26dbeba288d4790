// What a person needs who looks at a scenario that failed: logs, events, objects.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt, type Ran } from './programs.ts';

const LOOKS: Readonly<Record<string, readonly string[]>> = {
  'objects.yaml': ['get', 'pipelines,livesources,pods,deployments,leases,services', '-A', '-o', 'yaml'],
  'events.txt': ['get', 'events', '-A', '--sort-by=.metadata.creationTimestamp', '-o', 'wide'],
  'pods.txt': ['get', 'pods', '-A', '-o', 'wide'],
  'nodes.txt': ['describe', 'nodes'],
};

/** Keeps it in a folder of its own, below FAIRLEAD_E2E_EVIDENCE (absent: `out/e2e`). */
export async function keepEvidence(name: string): Promise<void> {
  const root = process.env.FAIRLEAD_E2E_EVIDENCE ?? 'out/e2e';
  const folder = join(root, name.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 80));
  mkdirSync(folder, { recursive: true });
  const keep = (file: string, { stdout, stderr }: Ran) => writeFileSync(join(folder, file), stdout + stderr);
  for (const [file, args] of Object.entries(LOOKS)) keep(file, await attempt('kubectl', args));
  for (const { namespace, pod } of await ourPods()) {
    const logs = (...more: string[]) =>
      attempt('kubectl', ['-n', namespace, 'logs', pod, '--all-containers', '--timestamps', ...more]);
    keep(`${namespace}-${pod}.log`, await logs());
    const before = await logs('--previous');
    if (before.code === 0) keep(`${namespace}-${pod}.before.log`, before);
  }
}

/** All pods that are not the cluster's own. */
async function ourPods(): Promise<readonly { namespace: string; pod: string }[]> {
  const { stdout } = await attempt('kubectl', ['get', 'pods', '-A', '--no-headers']);
  const pods = stdout.split('\n').flatMap((line) => {
    const [namespace, pod] = line.trim().split(/\s+/);
    return namespace === undefined || pod === undefined ? [] : [{ namespace, pod }];
  });
  return pods.filter(({ namespace }) => !/^(kube-|local-path-)/.test(namespace));
}
