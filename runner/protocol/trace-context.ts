// W3C trace context, and the ids of the spans of a run: operator and runner work them out alike, so that a request that a step makes hangs
// below that step's span, which the operator writes later, and so that another operator goes on with the same tree.
//   X1. A trace id begins with the time at which its update was asked for: an operator that takes the update over knows it. The rest is random.
//   X2. The id of a span follows from its trace, its run, the attempt and its place in the attempt.
import type { FencingToken } from './messages.ts';

export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Whether its spans leave this system. */
  readonly isSampled: boolean;
}

/** Places of spans in an attempt: the run itself, its wait, then the spans that its runner tells of. */
export const RUN_PLACE = 0;
export const WAIT_PLACE = 1;
export const FIRST_SPAN_PLACE = 2;

const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const TIME_DIGITS = 12;

/** Undefined: it is not one, or all zeros. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = FORM.exec(text ?? '') ?? [];
  if (!/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** A trace id for an update that was asked for at this time (X1). `random`: in [0, 1). */
export function newTraceId(askedAtMs: number, random: () => number): string {
  const words = [random(), random(), random()].map((part) => hex(Math.floor(part * 2 ** 32), 8));
  return `${hex(Math.max(1, Math.floor(askedAtMs)), TIME_DIGITS)}${words.join('').slice(0, 32 - TIME_DIGITS)}`;
}

/** When the update of a trace was asked for, milliseconds of the epoch (X1). */
export function askedAtMsOf(traceId: string): number {
  return Number.parseInt(traceId.slice(0, TIME_DIGITS), 16);
}

/** X2. */
export function spanIdOf(
  traceId: string,
  { run, attempt }: Pick<FencingToken, 'run' | 'attempt'>,
  place: number,
): string {
  let high = Number.parseInt(traceId.slice(16, 24), 16);
  let low = Number.parseInt(traceId.slice(24, 32), 16);
  for (const part of [Math.floor(run / 2 ** 32), run % 2 ** 32, attempt, place]) {
    high = mixed(high ^ part);
    low = mixed(low ^ Math.imul(part, 0x9e3779b1) ^ high);
  }
  return `${hex(high >>> 0, 8)}${hex((low | 1) >>> 0, 8)}`;
}

/** The finaliser of MurmurHash3: every bit of the result depends on every bit of the word. */
function mixed(word: number): number {
  let bits = word ^ (word >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
