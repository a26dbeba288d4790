// Spans to a tracing back-end over OTLP, by the OpenTelemetry SDK and its standard OTEL_* variables. Nothing of the SDK is loaded unless
// somebody asks for it.
//   O1. On where OTEL_TRACES_EXPORTER names an exporter or an OTLP endpoint is set, and OTEL_SDK_DISABLED is not true.
//   O2. The SDK decides about sampling, queues, batches and sends; ids and times are ours.
//   O3. An exporter that fails loses spans and a line of the log, never anything else.
import type { Attributes, Context, HrTime, Link, Tracer } from '@opentelemetry/api';
import type { Log } from '../../log.ts';
import type { ExportedSpan, SpanSink } from './sink.ts';
import type { TraceLink } from './tree.ts';

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
  const exported = new Exported(api, tracer, ids);
  return {
    isSampled: (traceId, attributes) => {
      ids.set(traceId, 'f'.repeat(16));
      const asked = tracer.startSpan('update', { root: true, attributes: attributes as Attributes }, api.ROOT_CONTEXT);
      return asked.isRecording();
    },
    put: (span) => exported.put(span),
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

/** Brings spans that have ended to the SDK. */
class Exported {
  readonly #api: Api;
  readonly #tracer: Tracer;
  readonly #ids: PresetIds;
  /** Of the last parent of a run or a wait, and of the last one of a run's parts: siblings share one. */
  readonly #parents: Record<'run' | 'part', { spanId: string; context: Context } | undefined> = {
    run: undefined,
    part: undefined,
  };

  constructor(api: Api, tracer: Tracer, ids: PresetIds) {
    this.#api = api;
    this.#tracer = tracer;
    this.#ids = ids;
  }

  put(span: ExportedSpan): void {
    const { traceId, spanId, parentId, name, startMs, endMs, attributes, error, kind, links } = span;
    const { SpanKind, SpanStatusCode } = this.#api;
    this.#ids.set(traceId, spanId);
    const options = {
      root: parentId === undefined,
      kind: kind === 'call' || kind === 'commit' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      startTime: hrTime(startMs),
      attributes: attributes as Attributes,
      ...(links !== undefined && { links: links.map((link) => this.#link(link)) }),
    };
    const open = this.#tracer.startSpan(name, options, this.#below(span));
    if (error !== undefined) open.setStatus({ code: SpanStatusCode.ERROR, message: error.message ?? error.class });
    open.end(hrTime(endMs));
  }

  #below({ traceId, parentId: spanId, kind }: ExportedSpan): Context {
    const { ROOT_CONTEXT, TraceFlags, trace } = this.#api;
    if (spanId === undefined) return ROOT_CONTEXT;
    const place = kind === 'run' || kind === 'wait' ? 'run' : 'part';
    const known = this.#parents[place];
    if (known?.spanId === spanId) return known.context;
    const context = trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED });
    this.#parents[place] = { spanId, context };
    return context;
  }

  #link({ traceId, spanId, trigger, atMs, revision }: TraceLink): Link {
    return {
      context: { traceId, spanId, traceFlags: this.#api.TraceFlags.SAMPLED },
      attributes: {
        'fairlead.trigger': trigger,
        'fairlead.trigger.at_ms': atMs,
        ...(revision === undefined ? {} : { 'vcs.ref.head.revision': revision }),
      },
    };
  }
}

/** The SDK takes small numbers for times since the process began; pairs are always since the epoch. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

const afterMs = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
