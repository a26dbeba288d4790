// When to try again (design A13): full jitter under a doubling bound, Retry-After where it is longer. A short wait stays in the run and keeps
// its slot; a longer one parks the run, which gives the slot up.
import type { RunError } from '../protocol/index.ts';
import { isRetried } from './failure.ts';
import type { RetrySettings } from './ports.ts';

/** A wait up to this keeps the slot. */
export const IN_RUN_WAIT_MAX_MS = 5_000;

/** A far side that only says "later" uses no attempts up for as long as this; then the item fails and the next cycle tries it. */
export const RATE_LIMITED_MAX_MS = 60 * 60_000;

export const DEFAULT_RETRY: Required<RetrySettings> = { attempts: 5, baseMs: 200, maxMs: 30_000 };

/** How often something was tried so far, and since when it is being refused for its rate. */
export interface Tries {
  readonly failed: number;
  readonly limitedSinceMs?: number;
}

export type RetryDecision =
  | { readonly kind: 'again'; readonly waitMs: number }
  | { readonly kind: 'park'; readonly waitMs: number }
  | { readonly kind: 'giveUp' };

/** The tries after one more failure. Being refused for one's rate is no failed attempt. */
export function countFailure(tries: Tries, error: RunError, nowMs: number): Tries {
  if (error.class !== 'rate-limited') return { failed: tries.failed + 1 };
  return { failed: tries.failed, limitedSinceMs: tries.limitedSinceMs ?? nowMs };
}

/** What follows a failure; `tries` include it. `random` is in [0, 1). */
export function decideRetry(
  error: RunError,
  tries: Tries,
  settings: RetrySettings,
  nowMs: number,
  random: () => number,
): RetryDecision {
  if (!isRetried(error) || isExhausted(tries, settings, nowMs)) return { kind: 'giveUp' };
  const baseMs = settings.baseMs ?? DEFAULT_RETRY.baseMs;
  const maxMs = settings.maxMs ?? DEFAULT_RETRY.maxMs;
  const boundMs = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(tries.failed - 1, 0), 30));
  const waitMs = Math.max(Math.round(random() * boundMs), error.retryAfterMs ?? 0);
  return { kind: waitMs <= IN_RUN_WAIT_MAX_MS ? 'again' : 'park', waitMs };
}

function isExhausted(tries: Tries, settings: RetrySettings, nowMs: number): boolean {
  if (tries.failed >= settings.attempts) return true;
  return tries.limitedSinceMs !== undefined && nowMs - tries.limitedSinceMs >= RATE_LIMITED_MAX_MS;
}
