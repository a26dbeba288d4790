// Progress as plain lines, for logs and pipes: a line when something changed, at most every few seconds for each source.
import { printable, printableName } from '../printable.ts';
import { amountText, Paces } from './pace.ts';
import {
  detailText,
  type EndedUpdate,
  endedText,
  type FailedItem,
  type Reporter,
  type SourceState,
  type Streams,
} from './report.ts';

const LINE_EVERY_MS = 5_000;

export class PlainReport implements Reporter {
  readonly #streams: Streams;
  readonly #paces = new Paces();
  readonly #saidAtMs = new Map<string, number>();

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  progress(states: readonly SourceState[], nowMs: number): void {
    for (const state of states) {
      const pace = this.#paces.seen(state, nowMs);
      const saidAtMs = this.#saidAtMs.get(state.source) ?? nowMs;
      if (!this.#saidAtMs.has(state.source)) this.#saidAtMs.set(state.source, nowMs);
      if (nowMs - saidAtMs < LINE_EVERY_MS) continue;
      this.#saidAtMs.set(state.source, nowMs);
      const slots = [`${state.held} slots held`, `${state.waiting} waiting`];
      const detail = detailText(state);
      this.#streams.err(`${state.source}: ${[amountText(state), ...pace, ...slots, ...detail].join(', ')}\n`);
    }
  }

  ended(update: EndedUpdate): void {
    this.#paces.ended(update);
    if (update.source !== undefined && update.kind !== 'key') this.#saidAtMs.delete(update.source);
    this.#streams.out(`${endedText(update)}\n`);
  }

  failed({ source, key, message }: FailedItem): void {
    this.#streams.err(`${source}: ${printableName(key)}: ${printable(message)}\n`);
  }

  note(message: string): void {
    this.#streams.err(`${printable(message)}\n`);
  }

  event(): void {}

  close(): void {}
}
