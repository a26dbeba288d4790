// Progress and endings as JSON, one object a line on standard output.
import type { EndedUpdate, FailedItem, Reporter, SourceState, Streams } from './report.ts';

const LINE_EVERY_MS = 1_000;

export class JsonReport implements Reporter {
  readonly #streams: Streams;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  progress(states: readonly SourceState[], nowMs: number): void {
    if (nowMs - this.#saidAtMs < LINE_EVERY_MS) return;
    this.#saidAtMs = nowMs;
    for (const { source, progress, held, waiting, runs } of states)
      this.#say({ event: 'progress', source, ...progress, slots: { held, waiting }, ...(runs.length > 0 && { runs }) });
  }

  ended(update: EndedUpdate): void {
    this.#say({ event: 'update', ...update });
  }

  failed(item: FailedItem): void {
    this.#say({ event: 'failed', ...item });
  }

  note(message: string): void {
    this.#streams.err(`${message}\n`);
  }

  event(event: object): void {
    this.#say(event);
  }

  close(): void {}

  #say(value: object): void {
    this.#streams.out(`${JSON.stringify(value)}\n`);
  }
}
