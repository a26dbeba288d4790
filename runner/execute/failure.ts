// What a failure is, by class: nothing here or later matches on message text.
import type { RunError } from '../protocol/index.ts';
import { StepError } from '../sdk/index.ts';

/** Codes of the operating system and of HTTP clients that another try may cure. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EBUSY',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETUNREACH',
  'ENFILE',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Classes that another try may cure. */
const RETRIED: ReadonlySet<RunError['class']> = new Set(['transient', 'rate-limited', 'timeout', 'lost']);

export function isRetried(error: RunError): boolean {
  return RETRIED.has(error.class);
}

/** Carries a failure that has its class already through code that throws. */
export class RunFailure extends Error {
  readonly error: RunError;

  constructor(error: RunError) {
    super(error.message);
    this.name = 'RunFailure';
    this.error = error;
  }
}

/** The failure as the link carries it. `step`: where it happened, unless the failure says so itself. */
export function toRunError(thrown: unknown, step?: string): RunError {
  const where = step === undefined ? {} : { step };
  if (thrown instanceof RunFailure) return { ...where, ...thrown.error };
  if (thrown instanceof StepError) {
    const wish = thrown.retryAfterMs === undefined ? {} : { retryAfterMs: thrown.retryAfterMs };
    return { class: thrown.class, message: thrown.message, ...where, ...wish };
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { class: isTransientCode(thrown) ? 'transient' : 'internal', message, ...where };
}

function isTransientCode(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const { code } = thrown as { readonly code?: unknown };
  if (typeof code === 'string' && TRANSIENT_CODES.has(code)) return true;
  return thrown.cause !== undefined && thrown.cause !== thrown && isTransientCode(thrown.cause);
}
