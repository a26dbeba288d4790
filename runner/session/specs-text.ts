import type { RunnerSpecs } from './thread-messages.ts';

/** Equal for specs that say the same. Their generation does not tell: each operator that leads counts anew. */
export function specsText({ pipeline, sources }: RunnerSpecs): string {
  const ordered = sources.map(({ name, spec }) => [name, spec]).sort(([a], [b]) => (a! < b! ? -1 : 1));
  return JSON.stringify([pipeline, ordered]);
}
