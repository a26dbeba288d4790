// Whether the state store and the targets of a Pipeline take what runs commit, as the ends of runs tell.
//   H7. Trouble comes with FAILURES commits in a row that got no answer, none of them refused for what it held: one item's own failure is
//       none.
//   H8. It goes with the first commit that is taken, QUIET_MS after the last that was not: a store that comes and goes is in trouble all the time.
import { type RunError, type RunOutcome, STATE_STEP, TARGET_STEP } from '../../runner/protocol/index.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import type { DispatchEvents, RunView } from '../dispatch/index.ts';

export interface StoreTrouble {
  readonly reason: 'TargetUnreachable' | 'StateUnreachable';
  /** What the store's client said last. */
  readonly message: string;
}

const REASONS: Readonly<Record<string, StoreTrouble['reason']>> = {
  [TARGET_STEP]: 'TargetUnreachable',
  [STATE_STEP]: 'StateUnreachable',
};
const UNANSWERED: ReadonlySet<RunError['class']> = new Set(['transient', 'timeout', 'rate-limited']);
const FAILURES = 3;
const QUIET_MS = 10_000;

export class StoreHealth implements DispatchEvents {
  readonly #clock: Clock;
  readonly #changed: () => void;
  #failures = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #trouble: StoreTrouble | undefined;
  #cancelEnd: CancelTimer | undefined;

  /** `changed`: trouble came or went. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  get trouble(): StoreTrouble | undefined {
    return this.#trouble;
  }

  parked(_run: RunView, { error }: RunOutcome & { readonly kind: 'parked' }): void {
    this.#failed(error);
  }

  ended(_run: RunView, outcome: RunOutcome): void {
    if (outcome.kind === 'failed') this.#failed(outcome.error);
    else if (outcome.kind === 'done' && hasCommitted(outcome)) this.#taken();
  }

  /** Nothing is told any more. */
  close(): void {
    this.#cancelEnd?.();
  }

  #failed({ class: kind, step = '', message }: RunError): void {
    const reason = REASONS[step];
    if (reason === undefined || !UNANSWERED.has(kind)) return;
    this.#failures++;
    this.#failedAtMs = this.#clock.nowMs();
    this.#cancelEnd?.();
    this.#cancelEnd = undefined;
    if (this.#failures < FAILURES) return; // H7
    const isNews = this.#trouble?.reason !== reason;
    this.#trouble = { reason, message };
    if (isNews) this.#changed();
  }

  /** H8. */
  #taken(): void {
    this.#failures = 0;
    if (this.#trouble === undefined || this.#cancelEnd !== undefined) return;
    const leftMs = Math.max(0, this.#failedAtMs + QUIET_MS - this.#clock.nowMs());
    this.#cancelEnd = this.#clock.after(leftMs, () => {
      this.#cancelEnd = undefined;
      this.#trouble = undefined;
      this.#changed();
    });
  }
}

const hasCommitted = ({ counts }: RunOutcome & { readonly kind: 'done' }): boolean =>
  counts.added + counts.reprocessed + counts.deleted > 0;
