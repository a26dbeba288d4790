// Traces and metrics of the local mode: for a process that stays, which people look at, and wherever the environment says whereto they
// are sent. Nothing is loaded or measured otherwise.
import { type Log, SILENT } from '../../operator/log.ts';
import type { OpenTelemetry } from '../telemetry.ts';
import type { Reporter } from './report.ts';

const ASKED_BY = ['OTEL_TRACES_EXPORTER', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

/** Undefined: nobody wants any. */
export async function openTraces(
  environment: NodeJS.ProcessEnv,
  reporter: Reporter,
  stays: boolean,
): Promise<OpenTelemetry | undefined> {
  if (!stays && !ASKED_BY.some((name) => (environment[name] ?? '') !== '')) return undefined;
  const { openTelemetry } = await import('../telemetry.ts');
  const warn: Log['warn'] = (message, fields) => reporter.note(`${message}: ${String(fields?.why ?? '')}`);
  return await openTelemetry(environment, { ...SILENT, warn }, { saysUpdates: false });
}
