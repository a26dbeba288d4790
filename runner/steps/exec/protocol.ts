// The lines between a runner and a program of an `exec` step: one JSON object a line, both ways, in UTF-8.
//
//   to the program    {"id": 1, "item": {"source", "key", "version"}, "elements": [...], "traceparent"?}
//   from the program  {"id": 1, "elements": [...]}   or   {"id": 1, "error": "why", "class": "invalid"}
//   with `batch`      {"id": 1, "calls": [{"item", "elements", "traceparent"?}, ...]}
//                     {"id": 1, "results": [{"elements"} or {"error", "class"}, ...]}, one for each call, in order
//
// An element is {"text", "bytes" (base64), "place", "language", "vector" (numbers), "fields"}, every member optional. What the
// program returns replaces what it got. Lines without `id` are passed over, so a program may say that it is ready.

import { type Element, type FailureClass, type FieldValue, type Item, type Place, StepError } from '../../sdk/index.ts';
import type { Hide } from '../../secrets.ts';

export interface ExecCall {
  readonly item: Item;
  readonly elements: readonly Element[];
  /** W3C trace context, for requests that the program makes. */
  readonly traceparent?: string | undefined;
}

export type ExecResult = readonly Element[] | StepError;

/** Classes that a program may name; `invalid` where it names none: it looked at the item and cannot take it. */
const CLASSES: readonly FailureClass[] = ['transient', 'rate-limited', 'too-large', 'invalid', 'timeout', 'internal'];
const WORDS_MAX = 500;

/** The request line of one call, or of a batch. */
export function requestLine(id: number, calls: readonly ExecCall[], isBatch: boolean): string {
  const bodies = calls.map(({ item, elements, traceparent }) => ({
    item: { source: item.source, key: item.key, version: item.version },
    elements: elements.map(toWire),
    ...(traceparent === undefined ? {} : { traceparent }),
  }));
  return `${JSON.stringify(isBatch ? { id, calls: bodies } : { id, ...bodies[0] })}\n`;
}

function toWire({ vectorKey: _key, bytes, vector, ...element }: Element): object {
  return {
    ...element,
    ...(bytes === undefined ? {} : { bytes: Buffer.from(bytes).toString('base64') }),
    ...(vector === undefined ? {} : { vector: Array.from(vector) }),
  };
}

/** The id of a reply line; undefined for a line that is no reply. Throws StepError for what is not JSON. */
export function parseReply(line: string, hide: Hide): { readonly id: number; readonly body: object } | undefined {
  let body: unknown;
  try {
    body = JSON.parse(line);
  } catch {
    const start = JSON.stringify(hide(line).slice(0, 80));
    throw new StepError(
      'internal',
      `printed a line that is not JSON: ${start} (what is for people goes to standard error)`,
    );
  }
  if (typeof body !== 'object' || body === null || !('id' in body)) return undefined;
  return typeof body.id === 'number' ? { id: body.id, body } : undefined;
}

/** The results of a reply, one per call. Throws StepError where the reply has not the form that was asked for. */
export function resultsOf(body: object, count: number, isBatch: boolean, hide: Hide): readonly ExecResult[] {
  if (!isBatch) return [resultOf(body, hide)];
  const { results } = body as { results?: unknown };
  if ('error' in body) return Array.from({ length: count }, () => resultOf(body, hide));
  if (!Array.isArray(results)) throw new StepError('internal', 'answered a batch without "results"');
  if (results.length !== count) {
    throw new StepError('internal', `answered ${count} calls with ${results.length} results`);
  }
  return results.map((result) => resultOf(result, hide));
}

function resultOf(body: unknown, hide: Hide): ExecResult {
  const { error, class: named, elements, retryAfterMs } = (body ?? {}) as { [name: string]: unknown };
  if (error !== undefined) {
    const failure = CLASSES.find((known) => known === named) ?? 'invalid';
    const wait = typeof retryAfterMs === 'number' ? { retryAfterMs } : {};
    return new StepError(failure, hide(String(error)).slice(0, WORDS_MAX), wait);
  }
  if (!Array.isArray(elements)) throw new StepError('internal', 'answered with neither "elements" nor "error"');
  return elements.map(fromWire);
}

function fromWire(value: unknown, index: number): Element {
  const refuse = (what: string): never => {
    throw new StepError('internal', `answered with elements[${index}]${what}`);
  };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(' that is not an object');
  const { text, bytes, place, language, vector, fields } = value as { [name: string]: unknown };
  if (text !== undefined && typeof text !== 'string') refuse('.text that is not a text');
  if (language !== undefined && typeof language !== 'string') refuse('.language that is not a text');
  if (bytes !== undefined && typeof bytes !== 'string') refuse('.bytes that is not base64');
  if (place !== undefined && !isPlace(place)) {
    refuse('.place that is not {startByte, endByte, startLine, endLine} in whole numbers');
  }
  if (vector !== undefined && !isVector(vector)) refuse('.vector that is not a list of finite numbers');
  if (fields !== undefined && (typeof fields !== 'object' || fields === null || Array.isArray(fields))) {
    refuse('.fields that is not an object');
  }
  return {
    ...(text === undefined ? {} : { text: text as string }),
    ...(bytes === undefined ? {} : { bytes: Buffer.from(bytes as string, 'base64') }),
    ...(place === undefined ? {} : { place: place as Place }),
    ...(language === undefined ? {} : { language: language as string }),
    ...(vector === undefined ? {} : { vector: Float32Array.from(vector as number[]) }),
    ...(fields === undefined ? {} : { fields: fields as { [name: string]: FieldValue } }),
  };
}

function isPlace(value: unknown): value is Place {
  if (typeof value !== 'object' || value === null) return false;
  const members = ['startByte', 'endByte', 'startLine', 'endLine'] as const;
  return members.every((name) => name in value && Number.isSafeInteger((value as Record<string, unknown>)[name]));
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((number) => Number.isFinite(number));
