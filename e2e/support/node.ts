// What happens to a container below Kubernetes, on its node: nobody is told beforehand, as with a crash or a machine that stalls.
import { run } from './programs.ts';
import type { Seen } from './watch.ts';

/** KILL: it crashes. STOP: it stands still, with its connections open. CONT: it goes on. */
export type Signal = 'KILL' | 'STOP' | 'CONT';

/** Sends a signal to the first process of a pod's only container. The nodes of kind are containers of docker. */
export async function signal({ metadata, spec, status }: Seen, name: Signal): Promise<void> {
  const id = status?.containerStatuses?.[0]?.containerID?.replace('containerd://', '');
  if (id === undefined) throw new Error(`the pod ${metadata.name} has no container yet`);
  const onNode = (...command: string[]) => run('docker', ['exec', String(spec?.nodeName), ...command]);
  const pid = await onNode('crictl', 'inspect', '--output', 'go-template', '--template', '{{.info.pid}}', id);
  await onNode('kill', `-${name}`, pid.trim());
}
