// Spans to a tracing back-end over OTLP, by the OpenTelemetry SDK and its standard OTEL_* variables. Nothing of the SDK is loaded unless
// somebody asks for it.
//   O1. On where OTEL_TRACES_EXPORTER names an exporter or an OTLP endpoint is set, and OTEL_SDK_DISABLED is not true.
//   O2. The SDK decides about sampling, queues, batches and sends; ids and times are ours.
//   O3. An exporter that fails loses spans and a line of the log, never anything else.
import type { HrTime, Tracer } from '@opentelemetry/api';
import type { Log } from '../../log.ts';
import type { ExportedSpan, SpanSink } from './sink.ts';

type Environment = Record<string, string | undefined>;

/** O1. */
export function wantsExport(environment: Readonly<Environment>): boolean {
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter } = environment;
  if (disabled?.toLowerCase() === 'true' || exporter === 'none') return false;
  const endpoint = environment.OTEL_EXPORTER_OTLP_ENDPOINT ?? environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  return (exporter ?? '') !== '' || (endpoint ?? '') !== '';
}

export interface OtelSink extends SpanSink {
  /** Sends what waits, and ends. At most for a few seconds. */
  close(): Promise<void>;
}

/** Where nothing else is set: room for the spans of a large update, sent every second. */
const DEFAULTS: Readonly<Record<string, string>> = {
  OTEL_BSP_MAX_QUEUE_SIZE: '8192',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1024',
  OTEL_BSP_SCHEDULE_DELAY: '1000',
  OTEL_LOGS_EXPORTER: 'none',
};
const CLOSE_MAX_MS = 3_000;

/** `environment`: that of the process, which the SDK reads; defaults are set in it. */
export async function openOtel(service: string, environment: Environment, log: Log): Promise<OtelSink> {
  for (const [name, value] of Object.entries(DEFAULTS)) environment[name] ??= value;
  const [{ NodeSDK }, api] = await Promise.all([import('@opentelemetry/sdk-node'), import('@opentelemetry/api')]);
  const warn = (message: string): void => log.warn('traces could not be sent', { why: message.slice(0, 500) });
  api.diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, api.DiagLogLevel.WARN);
  const ids = new PresetIds();
  const sdk = new NodeSDK({
    serviceName: environment.OTEL_SERVICE_NAME ?? service,
    idGenerator: ids,
    metricReaders: [],
    instrumentations: [],
  });
  sdk.start();
  const tracer = api.trace.getTracer('fairlead');
  return {
    isSampled: (traceId, attributes) => {
      ids.set(traceId, 'f'.repeat(16));
      const asked = tracer.startSpan('update', { root: true, attributes: plain(attributes) }, api.ROOT_CONTEXT);
      return asked.isRecording();
    },
    put: (span) => put(span, tracer, ids, api),
    close: async () => {
      await Promise.race([sdk.shutdown(), afterMs(CLOSE_MAX_MS)]).catch((error) => warn(String(error)));
      for (const part of [api.trace, api.context, api.propagation, api.diag]) part.disable();
    },
  };
}

/** O2: the SDK takes ids from here. */
class PresetIds {
  #traceId = '';
  #spanId = '';

  set(traceId: string, spanId: string): void {
    this.#traceId = traceId;
    this.#spanId = spanId;
  }

  generateTraceId(): string {
    return this.#traceId;
  }

  generateSpanId(): string {
    return this.#spanId;
  }
}

type Api = typeof import('@opentelemetry/api');

function put(span: ExportedSpan, tracer: Tracer, ids: PresetIds, api: Api): void {
  const { traceId, spanId, parentId, name, startMs, endMs, attributes, error, kind, links = [] } = span;
  ids.set(traceId, spanId);
  const traceFlags = api.TraceFlags.SAMPLED;
  const parent = parentId === undefined ? undefined : { traceId, spanId: parentId, traceFlags };
  const context = parent === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent);
  const options = {
    root: parent === undefined,
    kind: kind === 'call' || kind === 'commit' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
    startTime: hrTime(startMs),
    attributes: plain(attributes),
    links: links.map((link) => ({
      context: { traceId: link.traceId, spanId: link.spanId, traceFlags },
      attributes: {
        'fairlead.trigger': link.trigger,
        'fairlead.trigger.at_ms': link.atMs,
        ...(link.revision === undefined ? {} : { 'vcs.ref.head.revision': link.revision }),
      },
    })),
  };
  const open = tracer.startSpan(name, options, context);
  if (error !== undefined) open.setStatus({ code: api.SpanStatusCode.ERROR, message: error.message ?? error.class });
  open.end(hrTime(endMs));
}

/** The SDK takes small numbers for times since the process began; pairs are always since the epoch. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

const plain = (attributes: ExportedSpan['attributes']): Record<string, string | number | boolean | string[]> =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  );

const afterMs = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
