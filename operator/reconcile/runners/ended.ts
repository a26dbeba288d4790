// What proves that nothing of a runner pod runs any more. Until then its slots and cards count as held (G6).
import type { PodObject } from '../ports.ts';

/**
 * Whether a pod that ended, or went, is known to run nothing. A pod that was deleted by force goes from the API server while its containers
 * still run (F81): only what its kubelet said last counts, or that it never had a node.
 */
export function isProvenEnded({ spec, status }: PodObject): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return true;
  if (spec?.nodeName === undefined) return true;
  const containers = status?.containerStatuses ?? [];
  return containers.length > 0 && containers.every(({ state }) => state?.terminated !== undefined);
}
