// The API and the dashboard of `fairlead dev --watch`.
import { actOn } from '../../operator/api/index.ts';
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
  const hosts = new Map(pipelines.map(({ host }) => [host.name, host]));
  return serveLocalApi({
    address,
    folder: first.objects.folders.home,
    by: 'dev',
    clock: systemClock,
    hosts: () => hosts,
    act: (name, action) => actOn(hosts.get(name)!, action),
    ...(telemetry !== undefined && {
      trace: (pipeline: string, update: string) => telemetry.traces.get(pipeline, update),
      metrics: () => telemetry.metricsText(),
    }),
  });
}
