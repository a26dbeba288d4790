// Why a runner pod is not at work, in the documented reasons. Pure: a pod in, a trouble or nothing out.
import type { ConditionReason } from '../../../crds/schema/index.ts';
import type { ContainerStatus, PodObject } from '../ports.ts';
import type { Trouble } from '../status/picture.ts';

/** Reasons of the kubelet that mean: the image cannot be had. */
const IMAGE_REASONS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
]);
/** A container may take so long until it is made; after that a volume is the likely cause. */
const VOLUME_PATIENCE_MS = 60_000;

export function podTrouble(pod: PodObject, nowMs: number): Trouble | undefined {
  if (pod.metadata.deletionTimestamp !== undefined) return undefined;
  return failed(pod) ?? unschedulable(pod) ?? containerTrouble(pod) ?? slowVolumes(pod, nowMs);
}

const named = (pod: PodObject, text: string): string => `pod ${pod.metadata.name}: ${text}`;

function failed(pod: PodObject): Trouble | undefined {
  const { phase, reason, message } = pod.status ?? {};
  if (phase !== 'Failed') return undefined;
  if (statuses(pod).some(wasOutOfMemory)) return outOfMemory(pod);
  const why = [reason, message].filter(Boolean).join(': ') || 'it failed';
  return { reason: 'RunnerCrashLooping', message: named(pod, `${why}; it is replaced`) };
}

function unschedulable(pod: PodObject): Trouble | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  return { reason: 'Unschedulable', message: named(pod, scheduled.message ?? scheduled.reason ?? 'no node has room') };
}

function containerTrouble(pod: PodObject): Trouble | undefined {
  for (const container of statuses(pod)) {
    const { reason = '', message } = container.state?.waiting ?? {};
    const reported = reportedBy(container);
    if (reported !== undefined) return { reason: reported.reason, message: named(pod, reported.message) };
    const details = message === undefined ? reason : `${reason}: ${message}`;
    if (IMAGE_REASONS.has(reason)) return { reason: 'ImagePullFailed', message: named(pod, details) };
    if (reason === 'CreateContainerConfigError' || reason === 'CreateContainerError')
      return { reason: 'SecretNotFound', message: named(pod, details) };
    if (wasOutOfMemory(container) && container.state?.terminated === undefined && reason === '') continue; // it runs again
    if (wasOutOfMemory(container)) return outOfMemory(pod);
    if (reason === 'CrashLoopBackOff')
      return { reason: 'RunnerCrashLooping', message: named(pod, lastWords(container)) };
  }
  return undefined;
}

/** A volume that cannot be mounted shows in events only; what is known is that the container is not made. */
function slowVolumes(pod: PodObject, nowMs: number): Trouble | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const isWaiting = statuses(pod).some(({ state }) => state?.waiting?.reason === 'ContainerCreating');
  if (!isWaiting || scheduled?.status !== 'True' || scheduled.lastTransitionTime === undefined) return undefined;
  if (nowMs - Date.parse(scheduled.lastTransitionTime) < VOLUME_PATIENCE_MS) return undefined;
  const text =
    'its container is not made; a Secret or claim that it mounts may be missing (kubectl describe pod tells)';
  return { reason: 'SecretNotFound', message: named(pod, text) };
}

/** What a runner says of itself when it ends because its Pipeline could not be opened (runner/assemble/opening.ts). */
const REPORTED = /^(TargetRefused|TargetUnreachable|StateHeld|StateUnreachable): (.+)$/m;

/** The last words of a container that is down; one that runs again is given another chance. */
function reportedBy({ state, lastState }: ContainerStatus): Trouble | undefined {
  if (state?.waiting === undefined && state?.terminated === undefined) return undefined;
  const { message = '' } = state.terminated ?? lastState?.terminated ?? {};
  const [, reason, text = ''] = REPORTED.exec(message) ?? [];
  return reason === undefined ? undefined : { reason: reason as ConditionReason, message: text };
}

const outOfMemory = (pod: PodObject): Trouble => ({
  reason: 'RunnerOutOfMemory',
  message: named(pod, 'it was killed for memory; raise the memory limit in the template of its class, or lower slots'),
});

const wasOutOfMemory = ({ state, lastState }: ContainerStatus): boolean =>
  state?.terminated?.reason === 'OOMKilled' || lastState?.terminated?.reason === 'OOMKilled';

function lastWords({ lastState, restartCount = 0 }: ContainerStatus): string {
  const { reason = 'Error', exitCode, message } = lastState?.terminated ?? {};
  const code = exitCode === undefined ? '' : ` with code ${exitCode}`;
  return `it ended ${restartCount} times, last ${reason}${code}${message === undefined ? '' : `: ${message}`}`;
}

const statuses = ({ status }: PodObject): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];
