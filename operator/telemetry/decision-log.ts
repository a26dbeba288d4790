// The decision log: what asked for slots, what got them and when, one JSON object a line, for `fairlead simulate --replay`.
//   L1. Opt-in and bounded: after so many bytes it says so in its last line and writes nothing more.
//   L2. Names of updates and live sources, numbers, times and kinds: no key of an item and nothing of its content.
import type { Clock } from '../clock.ts';
import type { DispatchEvents, GrantReason, RunView, UpdateEnding, UpdateView } from '../dispatch/index.ts';

/** Line of the log; times are milliseconds since its first line. */
export type Decision =
  | {
      readonly e: 'log';
      readonly version: 1;
      readonly pipeline: string;
      readonly slots: number;
      readonly startedAt: string;
    }
  | {
      readonly e: 'opened';
      readonly t: number;
      readonly update: string;
      readonly source: string;
      readonly kind: string;
    }
  | { readonly e: 'asked'; readonly t: number; readonly run: number; readonly update: string; readonly parent?: number }
  | { readonly e: 'granted'; readonly t: number; readonly run: number; readonly loan: boolean }
  /** It gave its slot back: it ended, was parked, or lost its runner. */
  | { readonly e: 'left'; readonly t: number; readonly run: number; readonly how: 'ended' | 'parked' | 'lost' }
  | { readonly e: 'closed'; readonly t: number; readonly update: string; readonly result: string }
  | { readonly e: 'full'; readonly t: number };

export interface DecisionLogOptions {
  readonly clock: Clock;
  /** "namespace/name". */
  readonly pipeline: string;
  /** Asked when the first decision is written. */
  readonly slots: () => number;
  readonly maxBytes: number;
  /** Takes lines with their ends; may keep them for a while. */
  readonly write: (text: string) => void;
}

export class DecisionLog implements DispatchEvents {
  readonly #options: DecisionLogOptions;
  readonly #startedMs: number;
  #leftBytes: number;
  #isFull = false;
  #isBegun = false;

  constructor(options: DecisionLogOptions) {
    this.#options = options;
    this.#startedMs = options.clock.nowMs();
    this.#leftBytes = options.maxBytes;
  }

  updateOpened(update: UpdateView): void {
    this.#write({
      e: 'opened',
      t: this.#now(),
      update: update.name,
      source: update.start.source ?? '',
      kind: update.kind,
    });
  }

  requested(run: RunView): void {
    if (run.kind === 'watch') return;
    const parent = run.parentRun;
    const asked = { e: 'asked', t: this.#now(), run: run.number, update: run.update.name } as const;
    this.#write(parent === undefined ? asked : { ...asked, parent });
  }

  granted(run: RunView, { isLoan }: GrantReason): void {
    if (run.kind !== 'watch') this.#write({ e: 'granted', t: this.#now(), run: run.number, loan: isLoan });
  }

  ended(run: RunView): void {
    this.#left(run, 'ended');
  }

  parked(run: RunView): void {
    this.#left(run, 'parked');
  }

  lost(run: RunView): void {
    this.#left(run, 'lost');
  }

  updateEnded(update: UpdateView, { result }: UpdateEnding): void {
    this.#write({ e: 'closed', t: this.#now(), update: update.name, result });
  }

  #left(run: RunView, how: 'ended' | 'parked' | 'lost'): void {
    if (run.kind !== 'watch') this.#write({ e: 'left', t: this.#now(), run: run.number, how });
  }

  #now(): number {
    return Math.max(0, this.#options.clock.nowMs() - this.#startedMs);
  }

  #begin(): void {
    const { pipeline, slots } = this.#options;
    this.#isBegun = true;
    const startedAt = new Date(this.#startedMs).toISOString();
    this.#write({ e: 'log', version: 1, pipeline, slots: slots(), startedAt });
  }

  #write(decision: Decision): void {
    if (this.#isFull) return;
    if (!this.#isBegun) this.#begin();
    let line = `${JSON.stringify(decision)}\n`;
    this.#isFull = line.length > this.#leftBytes;
    if (this.#isFull) line = `${JSON.stringify({ e: 'full', t: this.#now() } satisfies Decision)}\n`; // L1
    this.#leftBytes -= line.length;
    this.#options.write(line);
  }
}
