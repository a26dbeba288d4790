// An OTLP receiver: what a collector would get, as plain spans and as a tree of names.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** Of the status; undefined: it is not an error. */
  readonly error?: string;
  readonly service: unknown;
}

export interface Receiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Resolves once a span was received that matches. */
  receives(matches: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  close(): Promise<void>;
}

/** Takes OTLP over HTTP as JSON. */
export async function openReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const watchers = new Set<() => void>();
  const server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.url === '/v1/traces') spans.push(...spansIn(JSON.parse(Buffer.concat(parts).toString('utf8'))));
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      for (const look of watchers) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    receives: (matches) =>
      new Promise((resolve) => {
        const look = () => {
          const found = spans.find(matches);
          if (found === undefined) return;
          watchers.delete(look);
          resolve(found);
        };
        watchers.add(look);
        look();
      }),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  /** A Collector leaves out what is empty. */
  readonly arrayValue?: { readonly values?: readonly OtlpValue[] };
}

type OtlpAttributes = readonly { readonly key: string; readonly value: OtlpValue }[];

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: OtlpAttributes;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface OtlpBody {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: OtlpAttributes };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

export function spansIn({ resourceSpans = [] }: OtlpBody): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = valuesOf(resource?.attributes)['service.name'];
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => received(span, service)));
  });
}

function received(span: OtlpSpan, service: unknown): ReceivedSpan {
  const { traceId, spanId, parentSpanId, name, links = [], status, attributes } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && parentSpanId !== '' && { parentSpanId }),
    name,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    attributes: valuesOf(attributes),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    ...(status?.code === 2 && { error: status.message ?? '' }),
    service,
  };
}

const valuesOf = (attributes: OtlpAttributes = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plainOf(value)]));

function plainOf({ stringValue, intValue, doubleValue, boolValue, arrayValue }: OtlpValue): unknown {
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map(plainOf);
  return stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue;
}

/** A tree as nested lists of names, siblings in order of their names: what stays of a trace without ids and times. */
export type Shape = readonly [string, ...Shape[]];

export function shapeOf(spans: readonly ReceivedSpan[], traceId: string, nameOf = (span: ReceivedSpan) => span.name) {
  const own = spans.filter((span) => span.traceId === traceId);
  const ids = new Set(own.map(({ spanId }) => spanId));
  const roots = own.filter(({ parentSpanId }) => parentSpanId === undefined || !ids.has(parentSpanId));
  const grown = (span: ReceivedSpan): Shape => {
    const children = own.filter(({ parentSpanId }) => parentSpanId === span.spanId).map(grown);
    return [nameOf(span), ...children.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))];
  };
  return roots.map(grown);
}
