// Progress and endings as data on standard output: JSON, one object a line, or YAML, one document each.
import { stringify } from 'yaml';
import type { EndedUpdate, FailedItem, Reporter, SourceState, Streams } from './report.ts';

const LINE_EVERY_MS = 1_000;

export const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`;
export const yamlDocument = (value: object): string => `---\n${stringify(value)}`;

export class DataReport implements Reporter {
  readonly #streams: Streams;
  readonly #text: (value: object) => string;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(streams: Streams, text: (value: object) => string) {
    this.#streams = streams;
    this.#text = text;
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
    this.#streams.out(this.#text(value));
  }
}
