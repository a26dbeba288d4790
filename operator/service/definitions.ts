// Waits for definitions that have all that this operator needs. Without them, or with those of an earlier version, it would fail at each object, or
// drop fields in silence: it says what is missing, is not ready, and goes on by itself once they are there. In a rollout the operator before it
// works on meanwhile.
import type { Clock } from '../clock.ts';
import { definitionsProblem, type KubeApi, pause } from '../cluster/index.ts';
import type { Log } from '../log.ts';

export interface DefinitionsOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
}

const LOOK_MS = 2_000;

export class Definitions {
  readonly #options: DefinitionsOptions;
  readonly #abort = new AbortController();
  #problem: string | undefined;

  constructor(options: DefinitionsOptions) {
    this.#options = options;
  }

  /** What somebody has to do; undefined: nothing, or it was not asked yet. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves when they are served, or with `stop`. */
  async served(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const problem = await this.#look();
      if (problem !== undefined && problem !== this.#problem) log.error(problem);
      this.#problem = problem;
      if (problem === undefined) return;
      await pause(clock, LOOK_MS, signal);
    }
  }

  stop(): void {
    this.#abort.abort();
  }

  /** An API server that does not say is no reason to wait: what needs it next waits for it by itself. */
  async #look(): Promise<string | undefined> {
    try {
      return await definitionsProblem(this.#options.api, this.#abort.signal);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#options.log.warn('the definitions could not be looked at', { error });
      return undefined;
    }
  }
}
