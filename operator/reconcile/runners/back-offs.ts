// When pods of a class may be made again, after some that failed for good or were refused (K3).
import type { Clock } from '../../clock.ts';
import type { Trouble } from '../status/picture.ts';
import { forgetClasses } from './kept.ts';

export interface BackOff {
  readonly failures: number;
  readonly notBeforeMs: number;
  readonly trouble?: Trouble;
}

const FIRST_MS = 1_000;
const MAX_MS = 300_000;

/** By class (`classKey`). */
export class BackOffs {
  readonly #clock: Clock;
  readonly #classes = new Map<string, BackOff>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(key: string): BackOff | undefined {
    return this.#classes.get(key);
  }

  /** A pod failed for good: the next one waits twice as long as this one did. */
  failed(key: string, trouble: Trouble | undefined): void {
    const failures = (this.of(key)?.failures ?? 0) + 1;
    const waitMs = Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1));
    this.#set(key, failures, waitMs, trouble);
  }

  /** A pod was refused for what is not its own fault. */
  hold(key: string, waitMs: number, trouble: Trouble): void {
    this.#set(key, 0, waitMs, trouble);
  }

  /** A runner of the class connected. */
  end(key: string): void {
    this.#classes.delete(key);
  }

  /** A Pipeline is gone. */
  forget(ownerUid: string): void {
    forgetClasses(this.#classes, ownerUid);
  }

  #set(key: string, failures: number, waitMs: number, trouble: Trouble | undefined): void {
    const notBeforeMs = this.#clock.nowMs() + waitMs;
    this.#classes.set(key, { failures, notBeforeMs, ...(trouble !== undefined && { trouble }) });
  }
}
