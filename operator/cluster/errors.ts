// What the API server's refusals mean. Callers switch on `reason` and `causes`, never on message text.

/** One field that the server objected to. */
export interface ApiCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** An answer that is no success. */
export class ApiError extends Error {
  readonly code: number;
  /** Kubernetes' reason, such as `NotFound`, `AlreadyExists`, `Conflict`, `Expired`; empty if the answer carried none. */
  readonly reason: string;
  readonly causes: readonly ApiCause[];
  readonly retryAfterMs: number | undefined;

  constructor(code: number, reason: string, message: string, causes: readonly ApiCause[] = [], retryAfterMs?: number) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.causes = causes;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server could not be asked, or did not answer in time; whether it acted is unknown. */
export class Unreachable extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'Unreachable';
  }
}

/** This operator does not lead any more: the write was not sent. */
export class NotLeading extends Error {
  constructor() {
    super('this operator does not lead any more');
    this.name = 'NotLeading';
  }
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 404;
export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 409 && error.reason !== 'AlreadyExists';
export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof ApiError && error.reason === 'AlreadyExists';
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.code === 410;
/** Creating in a namespace that is being deleted: nothing to do but wait for the end. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.code === 403 &&
  error.causes.some((cause) => cause.reason === 'NamespaceTerminating');
/** A 403 by a ResourceQuota: a reason to wait, not an error to hammer. */
export const isQuotaExceeded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 403 && error.message.includes('exceeded quota');

/** ApiError from an answer's parts. Priority-and-fairness answers 429 in plain text, so the body may be no JSON. */
export function toApiError(
  code: number,
  headers: Readonly<Record<string, unknown>>,
  body: string,
  nowMs: number,
): ApiError {
  const retryAfterMs = retryAfter(headers['retry-after'], nowMs);
  const isJson = String(headers['content-type'] ?? '').includes('json');
  const status = isJson ? parseStatus(body) : undefined;
  const message = status?.message ?? (body.slice(0, 500).trim() || `the API server answered ${code}`);
  return new ApiError(code, status?.reason ?? '', message, status?.details?.causes ?? [], retryAfterMs);
}

/** Seconds or an HTTP date, in milliseconds from now. */
function retryAfter(value: unknown, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly ApiCause[]; readonly retryAfterSeconds?: number };
}

function parseStatus(body: string): Status | undefined {
  try {
    const value = JSON.parse(body) as Status;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** ApiError from the Status object that a watch sends inside an ERROR event. */
export function statusError(status: unknown): ApiError {
  const { code = 500, reason = '', message = 'the watch reported an error', details } = (status ?? {}) as Status;
  const seconds = details?.retryAfterSeconds;
  return new ApiError(code, reason, message, details?.causes ?? [], seconds === undefined ? undefined : seconds * 1000);
}
