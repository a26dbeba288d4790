// Progress as plain lines, for logs and pipes: a line when something changed, at most every few seconds for each source.
import { Rate } from './rate.ts';
import {
  durationText,
  type EndedUpdate,
  endedText,
  type FailedItem,
  type Reporter,
  type SourceState,
  type Streams,
} from './report.ts';

const LINE_EVERY_MS = 5_000;

/** `1,200 of ~5,000`; the tilde stands while the listing is open. */
export function amountText({ progress }: SourceState): string {
  const total = `${progress.listed ? '' : '~'}${progress.total.toLocaleString('en')}`;
  return `${progress.done.toLocaleString('en')} of ${total}`;
}

/** `412/s, 9.0 s left`, as far as known. */
export function paceText(rate: Rate, { progress }: SourceState): string[] {
  const perSecond = rate.perSecond();
  const leftMs = progress.listed ? rate.leftMs(progress.total - progress.done) : undefined;
  const speed = perSecond === undefined ? [] : [`${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`];
  return leftMs === undefined ? speed : [...speed, `${durationText(leftMs)} left`];
}

export class PlainReport implements Reporter {
  readonly #streams: Streams;
  readonly #rates = new Map<string, Rate>();
  readonly #saidAtMs = new Map<string, number>();

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  progress(states: readonly SourceState[], nowMs: number): void {
    for (const state of states) {
      const rate = this.#rates.get(state.source) ?? new Rate();
      this.#rates.set(state.source, rate);
      rate.add(nowMs, state.progress.done);
      const saidAtMs = this.#saidAtMs.get(state.source) ?? nowMs;
      if (!this.#saidAtMs.has(state.source)) this.#saidAtMs.set(state.source, nowMs);
      if (nowMs - saidAtMs < LINE_EVERY_MS) continue;
      this.#saidAtMs.set(state.source, nowMs);
      const slots = [`${state.held} slots held`, `${state.waiting} waiting`];
      this.#streams.err(`${state.source}: ${[amountText(state), ...paceText(rate, state), ...slots].join(', ')}\n`);
    }
  }

  ended(update: EndedUpdate): void {
    if (update.source !== undefined && update.kind !== 'key') {
      this.#rates.delete(update.source);
      this.#saidAtMs.delete(update.source);
    }
    this.#streams.out(`${endedText(update)}\n`);
  }

  failed({ source, key, message }: FailedItem): void {
    this.#streams.err(`${source}: ${key}: ${message}\n`);
  }

  note(message: string): void {
    this.#streams.err(`${message}\n`);
  }

  close(): void {}
}
