// Metrics and traces of a process that hosts Pipelines, as the environment asks for them. docs/how-to/traces.md explains the variables.
import type { Log } from '../operator/log.ts';
import { openOtel, Telemetry, wantsExport } from '../operator/telemetry/index.ts';
import { type Clock, systemClock } from '../runner/clock.ts';

/** `off`: updates are not traced at all. */
const TRACES_VARIABLE = 'FAIRLEAD_TRACES';

export interface OpenTelemetry {
  readonly telemetry: Telemetry;
  /** Sends what waits, and ends. */
  close(): Promise<void>;
}

/** `clock`: that of the hosts. `log` hears of traces that could not be sent and, unless `saysUpdates` is false, of updates. */
export async function openTelemetry(
  environment: NodeJS.ProcessEnv,
  log: Log,
  { clock = systemClock, saysUpdates = true }: { readonly clock?: Clock; readonly saysUpdates?: boolean } = {},
): Promise<OpenTelemetry> {
  const traces = environment[TRACES_VARIABLE] !== 'off';
  const sink = traces && wantsExport(environment) ? await openOtel('fairlead-operator', environment, log) : undefined;
  const telemetry = new Telemetry({ clock, traces, ...(saysUpdates && { log }), ...(sink && { sink }) });
  return {
    telemetry,
    close: async () => {
      telemetry.close();
      await sink?.close();
    },
  };
}
