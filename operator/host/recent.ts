// What happened lately in one Pipeline, for people: how long runs took, and which failed with what. Fed by the dispatcher's events.
//   H6. Bounded: means over the last runs, and the last failures; nothing grows with the Pipeline.
import type { RunOutcome } from '../../runner/protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { DispatchEvents, RunView } from '../dispatch/index.ts';
import type { RunHistory } from '../inspection/index.ts';

export interface Failure {
  readonly atMs: number;
  readonly update: string;
  readonly source?: string;
  readonly path: string;
  /** Key of the item within its source. */
  readonly key?: string;
  readonly class: string;
  readonly message: string;
  readonly step?: string;
  readonly attempt: number;
}

const FAILURES_MAX = 100;
/** Runs that a mean is taken over: enough to be steady, few enough to follow a change within seconds. */
const RUNS_MAX = 256;
/** Kinds that do one thing and end. Roots hold a slot for their children's time, which would count that time twice. */
const LEAVES: ReadonlySet<string> = new Set(['item', 'element', 'delete']);

export class Recent implements DispatchEvents {
  readonly #clock: Clock;
  readonly #startedMs = new Map<number, number>();
  readonly #tookMs: number[] = [];
  #next = 0;
  #sumMs = 0;
  #failures: Failure[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  granted(run: RunView): void {
    if (LEAVES.has(run.kind)) this.#startedMs.set(run.number, this.#clock.nowMs());
  }

  ended(run: RunView, outcome: RunOutcome): void {
    const startedMs = this.#startedMs.get(run.number);
    if (startedMs !== undefined) {
      this.#startedMs.delete(run.number);
      this.#took(this.#clock.nowMs() - startedMs);
    }
    if (outcome.kind === 'failed' && outcome.error.class !== 'lost') this.#failed(run, outcome.error);
  }

  parked(run: RunView): void {
    this.#startedMs.delete(run.number);
  }

  lost(run: RunView): void {
    this.#startedMs.delete(run.number);
  }

  /** How long the last runs of single components took; undefined: none has ended yet. */
  get history(): RunHistory | undefined {
    const runs = this.#tookMs.length;
    return runs === 0 ? undefined : { runs, meanRunMs: this.#sumMs / runs };
  }

  /** Newest first. */
  get failures(): readonly Failure[] {
    return this.#failures;
  }

  #took(ms: number): void {
    this.#sumMs += ms - (this.#tookMs[this.#next] ?? 0);
    this.#tookMs[this.#next] = ms;
    this.#next = (this.#next + 1) % RUNS_MAX;
  }

  #failed(run: RunView, error: { readonly class: string; readonly message: string; readonly step?: string }): void {
    const { source, key } = run.update.start;
    const failure = {
      atMs: this.#clock.nowMs(),
      update: run.update.name,
      ...(source !== undefined && { source }),
      path: run.path,
      ...(key !== undefined && { key }),
      class: error.class,
      message: error.message,
      ...(error.step !== undefined && { step: error.step }),
      attempt: run.attempt,
    };
    this.#failures = [failure, ...this.#failures].slice(0, FAILURES_MAX);
  }
}
