// The API and the dashboard of `fairlead dev --watch`.
import type { Action, ActionAnswer } from '../../operator/api/index.ts';
import type { Telemetry } from '../../operator/telemetry/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { type ServedApi, serveLocalApi } from '../remote/serve.ts';
import type { LocalPipeline } from './pipeline.ts';

/** Undefined: it is off. */
export async function servePipelines(
  pipelines: readonly LocalPipeline[],
  address: string,
  telemetry: Telemetry | undefined,
): Promise<ServedApi | undefined> {
  const [first] = pipelines;
  if (first === undefined) return undefined;
  const watched = pipelines.map((pipeline) => ({ pipeline, view: pipeline.watched() }));
  const views = new Map(watched.map(({ view }) => [view.name, view]));
  const byName = new Map(watched.map(({ pipeline, view }) => [view.name, pipeline]));
  return serveLocalApi({
    address,
    folder: first.objects.folders.home,
    clock: systemClock,
    hosts: () => views,
    act: (name, action) => act(byName.get(name)!, action),
    ...(telemetry !== undefined && {
      trace: (pipeline: string, update: string) => telemetry.traces.get(pipeline, update),
      metrics: () => telemetry.metricsText(),
    }),
  });
}

function act(pipeline: LocalPipeline, { action, source, allowDeletes }: Action): ActionAnswer {
  const names = pipeline.objects.sources.map(({ name }) => name);
  if (source !== undefined && !names.includes(source))
    return { kind: 'refused', why: `Pipeline ${pipeline.label} has no LiveSource ${source}` };
  if (action === 'suspend' || action === 'resume')
    return { kind: 'refused', why: `fairlead dev does not ${action}: stop it, or set spec.suspend in the file` };
  const sources = source === undefined ? names : [source];
  pipeline.want(sources, {
    trigger: 'manual',
    ...(action === 'reprocess' && { reprocess: true }),
    ...(action === 'release-quarantined' && { releaseQuarantined: true }),
    ...(allowDeletes === true && { allowDeletes }),
  });
  return { kind: 'done', says: `asked for a cycle of ${sources.join(', ')}` };
}
