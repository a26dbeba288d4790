// Server-sent events: whoever looks gets the overview when it changed, once a second at the most.
//   S1. Bounded: so many listeners and no more, and a listener that does not read is let go rather than buffered for.
//   S2. Nobody listens: nothing is computed.
import type { ServerResponse } from 'node:http';
import type { CancelTimer, Clock } from '../clock.ts';

const EVERY_MS = 1_000;
const LISTENERS_MAX = 32;
/** A listener with so much unread is gone or asleep. */
const UNREAD_MAX_BYTES = 1 << 20;
/** Proxies cut what is silent for a minute. */
const SILENT_MAX_TURNS = 15;

export class Stream {
  readonly #clock: Clock;
  readonly #picture: () => object;
  readonly #listeners = new Set<ServerResponse>();
  #timer: CancelTimer | undefined;
  #last = '';
  #silentTurns = 0;

  /** `picture` without its time: two pictures that are equal are sent once. */
  constructor(clock: Clock, picture: () => object) {
    this.#clock = clock;
    this.#picture = picture;
  }

  /** Answers false where too many listen already. */
  add(answer: ServerResponse): boolean {
    if (this.#listeners.size >= LISTENERS_MAX) return false;
    answer.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    answer.write(`retry: 2000\n\n${message(this.#stamped(JSON.stringify(this.#picture())))}`);
    this.#listeners.add(answer);
    answer.once('close', () => this.#remove(answer));
    this.#timer ??= this.#clock.after(EVERY_MS, () => this.#turn());
    return true;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  close(): void {
    for (const answer of [...this.#listeners]) {
      answer.end();
      this.#remove(answer);
    }
  }

  #turn(): void {
    this.#timer = undefined;
    if (this.#listeners.size === 0) return;
    this.#timer = this.#clock.after(EVERY_MS, () => this.#turn());
    const picture = JSON.stringify(this.#picture());
    if (picture !== this.#last) this.#tell(message(this.#stamped(picture)));
    else if (++this.#silentTurns >= SILENT_MAX_TURNS) this.#tell(': still here\n\n');
    this.#last = picture;
  }

  #tell(text: string): void {
    this.#silentTurns = 0;
    for (const answer of [...this.#listeners]) {
      if (answer.writableLength > UNREAD_MAX_BYTES) answer.destroy();
      else answer.write(text);
    }
  }

  #remove(answer: ServerResponse): void {
    this.#listeners.delete(answer);
    if (this.#listeners.size > 0) return;
    this.#timer?.();
    this.#timer = undefined;
  }

  #stamped(picture: string): string {
    return `{"atMs":${this.#clock.nowMs()},${picture.slice(1)}`;
  }
}

const message = (data: string): string => `event: overview\ndata: ${data}\n\n`;
