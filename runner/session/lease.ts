// How long the runner may go on with what it holds: by the questions that an operator answered.
//   N2. The lease counts from when the last question that was answered was asked, never from when the answer came (F101).
import type { CancelTimer, Clock } from '../clock.ts';

/** Questions of one stream that may go unanswered before it counts as dead. */
export const UNANSWERED_MAX = 3;

export class Lease {
  readonly #clock: Clock;
  /** Its time may be up. */
  readonly #due: () => void;
  #timeoutMs = 0;
  /** Undefined: nothing was granted in this session. */
  #fromMs: number | undefined;
  #timer: CancelTimer = () => {};
  #questions = 0;
  /** Those of the present stream that wait for an answer, oldest first. */
  #asked: { readonly number: number; readonly atMs: number }[] = [];

  constructor(clock: Clock, due: () => void) {
    this.#clock = clock;
    this.#due = due;
  }

  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** Timers can be late, so whoever wants to act asks first. */
  get isOver(): boolean {
    return this.#fromMs !== undefined && this.#clock.nowMs() >= this.#fromMs + this.#timeoutMs;
  }

  /** An operator let this runner in that asked at `askedAtMs`. */
  granted(timeoutMs: number, askedAtMs: number): void {
    this.#timeoutMs = timeoutMs;
    this.#extend(askedAtMs);
  }

  /** Number of a question that is about to be asked; undefined: too many wait for an answer. */
  ask(): number | undefined {
    if (this.#asked.length >= UNANSWERED_MAX) return undefined;
    const number = ++this.#questions;
    this.#asked.push({ number, atMs: this.#clock.nowMs() });
    return number;
  }

  answered(number: number): void {
    const answered = this.#asked.find((asked) => asked.number === number);
    this.#asked = this.#asked.filter((asked) => asked.number > number);
    if (answered !== undefined) this.#extend(answered.atMs);
  }

  /** The stream is over: nobody answers what was asked on it. */
  forgetQuestions(): void {
    this.#asked = [];
  }

  /** The session is over. */
  end(): void {
    this.#timer();
    this.#fromMs = undefined;
  }

  #extend(fromMs: number): void {
    this.#fromMs = Math.max(fromMs, this.#fromMs ?? fromMs);
    this.#timer();
    this.#timer = this.#clock.after(this.#fromMs + this.#timeoutMs - this.#clock.nowMs(), this.#due);
  }
}
