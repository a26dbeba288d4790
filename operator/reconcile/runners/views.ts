// Runner pods as the plan sees them: what the API server says, what their runners say, what was asked for and is not seen yet.
import { LABELS } from '../../../crds/schema/index.ts';
import { FINGERPRINT, ORDINAL } from '../../blueprint/index.ts';
import type { PipelineHost } from '../../host/index.ts';
import type { PodObject } from '../ports.ts';
import type { Expectations, ExpectedPod } from './expectations.ts';
import type { RunnerPodView } from './plan.ts';

export const classOf = ({ metadata }: PodObject): string => metadata.labels?.[LABELS.runnerClass] ?? '';

/** Pods of a class, of all that a Pipeline has. */
export function viewsOf(
  all: readonly PodObject[],
  runnerClass: string,
  seen: { readonly host: PipelineHost; readonly owner: string; readonly expectations: Expectations },
): RunnerPodView[] {
  const { host, owner, expectations } = seen;
  const shown = all
    .filter((pod) => classOf(pod) === runnerClass)
    .map((pod) => ({ ...viewOf(pod, host), isDeleting: expectations.isBeingDeleted(owner, pod) }));
  const missing = expectations.missing(owner, all).filter((pod) => pod.runnerClass === runnerClass);
  return [...shown, ...missing.map(comingPod)];
}

function viewOf(pod: PodObject, host: PipelineHost): Omit<RunnerPodView, 'isDeleting'> {
  const { metadata, status } = pod;
  const runner = host.runner(metadata.name);
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    ordinal: Number(metadata.annotations?.[ORDINAL] ?? '0'),
    fingerprint: metadata.annotations?.[FINGERPRINT] ?? '',
    phase: (status?.phase ?? 'Pending') as RunnerPodView['phase'],
    isAwaited: isAwaited(host, pod),
    ...(runner !== undefined && {
      runner: {
        executing: runner.runs,
        isDraining: runner.isDraining,
        isDrained: runner.isDrained,
        ...(runner.idleSinceMs !== undefined && { idleSinceMs: runner.idleSinceMs }),
      },
    }),
  };
}

function comingPod({ name, ordinal, fingerprint }: ExpectedPod): RunnerPodView {
  return { name, uid: '', ordinal, fingerprint, phase: 'Pending', isDeleting: false };
}

/** Until all runners of an earlier operator are accounted for, one that is not heard of may execute runs. */
export const isAwaited = (host: PipelineHost, { metadata, status }: PodObject): boolean =>
  !host.isSettled && status?.phase === 'Running' && host.runner(metadata.name) === undefined;
