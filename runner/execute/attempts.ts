// Tries of what a run does, with waits between them (design A13). A short wait stays in the run; for a longer one the attempt ends by `Parked`,
// which carries what the next attempt of the run needs to count on from here.

import type { Clock } from '../clock.ts';
import type { Json, RunError } from '../protocol/index.ts';
import { Cancelled } from './cancellation.ts';
import { RunFailure, toRunError } from './failure.ts';
import type { Meter } from './meter.ts';
import type { RetrySettings } from './ports.ts';
import { countFailure, decideRetry, type Tries } from './retry.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

/** Ends an attempt that waits too long to keep its slot. */
export class Parked extends Error {
  readonly resumeAfterMs: number;
  readonly error: RunError;
  readonly resume: Json;

  constructor(resumeAfterMs: number, error: RunError, resume: Json) {
    super(error.message);
    this.name = 'Parked';
    this.resumeAfterMs = resumeAfterMs;
    this.error = error;
    this.resume = resume;
  }
}

/** What a parked attempt hands to the next: tries so far at one place of the run. */
interface Resume {
  readonly at: string;
  readonly failed: number;
  readonly limitedSinceMs?: number;
}

const NO_TRIES: Tries = { failed: 0 };

export class Attempts {
  readonly #run: Run;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #meter: Meter;
  /** Tries by place; made with the first failure. */
  #tries: Map<string, Tries> | undefined;

  constructor(run: Run, { clock, random, meter }: Pick<Services, 'clock' | 'random' | 'meter'>) {
    this.#run = run;
    this.#clock = clock;
    this.#random = random;
    this.#meter = meter;
  }

  /** `at` names the place in the run, the same in each attempt; `step` is for people. Throws RunFailure, Parked or Cancelled. */
  async try<T>(at: string, step: string | undefined, settings: RetrySettings, body: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await body();
      } catch (thrown) {
        await this.failed(at, step, settings, thrown);
      }
    }
  }

  /** What was tried failed: resolves when it is to be tried again, else throws as `try` does. */
  async failed(at: string, step: string | undefined, settings: RetrySettings, thrown: unknown): Promise<void> {
    if (thrown instanceof Cancelled || thrown instanceof Parked) throw thrown;
    const error = toRunError(thrown, step);
    const nowMs = this.#clock.nowMs();
    this.#tries ??= new Map();
    const tries = countFailure(this.#tries.get(at) ?? this.#resumed(at), error, nowMs);
    this.#tries.set(at, tries);
    const decision = decideRetry(error, tries, settings, nowMs, this.#random);
    if (decision.kind === 'giveUp') throw new RunFailure(error);
    if (decision.kind === 'again') {
      this.#meter.retried(error.class);
      return this.#run.cancellation.sleep(this.#clock, decision.waitMs);
    }
    await this.#run.drained();
    throw new Parked(decision.waitMs, error, { at, ...tries });
  }

  #resumed(at: string): Tries {
    const resume = this.#run.order.resume as Resume | undefined;
    return resume?.at === at ? resume : NO_TRIES;
  }
}
