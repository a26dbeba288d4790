import type { RunnerSpecs } from './thread-messages.ts';

/** What only the operator acts on: a runner that executes goes on as it is when these change. */
const OPERATORS = {
  pipeline: ['maxInflightComponents', 'limits', 'suspend', 'deletionPolicy'],
  runnerClass: ['slots', 'replicas', 'template'],
  source: ['mode', 'interval', 'cron', 'timeZone', 'resync', 'weight', 'limits', 'suspend'],
};

type Fields = Readonly<Record<string, unknown>>;

/** Equal for specs that say the same to a runner. Their generation does not tell: each operator that leads counts anew. */
export function specsText({ pipeline, sources }: RunnerSpecs): string {
  const ordered = sources
    .map(({ name, spec }) => [name, without(JSON.parse(spec) as Fields, OPERATORS.source)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const spec = JSON.parse(pipeline) as Fields & { readonly runners?: readonly Fields[] };
  const runners = spec.runners?.map((one) => without(one, OPERATORS.runnerClass));
  return JSON.stringify([without({ ...spec, runners }, OPERATORS.pipeline), ordered]);
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
