// Errors that say what class of failure they are, so that nothing has to match on message text.

/** Classes of failure that a step can name. `too-large`: the same call with less may pass (413, "too long"). */
export type FailureClass = 'transient' | 'rate-limited' | 'too-large' | 'invalid' | 'timeout' | 'internal';

/** Failure of a step with its class. The message is for people: what was wrong, where, what to do. */
export class StepError extends Error {
  readonly class: FailureClass;
  /** What the far side asked for by Retry-After. */
  readonly retryAfterMs?: number;

  constructor(failure: FailureClass, message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StepError';
    this.class = failure;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** Thrown by a batched function to ask for the same items in smaller batches. */
export class RetryWithSmallerBatch extends Error {
  constructor(cause?: unknown) {
    super('the batch was refused as too large', { cause });
    this.name = 'RetryWithSmallerBatch';
  }
}
