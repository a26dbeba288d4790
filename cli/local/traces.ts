// Traces of the local mode: sent where the environment says whereto, and nothing is loaded or measured otherwise.
import { type Log, SILENT } from '../../operator/log.ts';
import type { OpenTelemetry } from '../telemetry.ts';
import type { Reporter } from './report.ts';

const ASKED_BY = ['OTEL_TRACES_EXPORTER', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

/** Undefined: none are wanted. */
export async function openTraces(
  environment: NodeJS.ProcessEnv,
  reporter: Reporter,
): Promise<OpenTelemetry | undefined> {
  if (!ASKED_BY.some((name) => (environment[name] ?? '') !== '')) return undefined;
  const { openTelemetry } = await import('../telemetry.ts');
  const warn: Log['warn'] = (message, fields) => reporter.note(`${message}: ${String(fields?.why ?? '')}`);
  return await openTelemetry(environment, { ...SILENT, warn }, false);
}
