// Deletion: rows go first, then the finalizer.
//   F1. The finalizer was seen in the API server's answer before the first row could be written.
//   F2. It goes when the rows are gone, when `deletionPolicy` is Retain, or when `timeoutMs` have passed since the delete: a target that is
//       gone for good never keeps an object for ever; an event then says what was left behind.
//   F3. A drop that fails is tried again with back-off, as often as the time allows.
import type { Clock } from '../../clock.ts';
import type { UpdateEnding } from '../../dispatch/index.ts';
import type { StoredObject } from '../ports.ts';

export type DropState =
  | { readonly kind: 'done' }
  /** `message`: why the attempt before failed. */
  | { readonly kind: 'running'; readonly message?: string }
  | { readonly kind: 'waiting'; readonly afterMs: number; readonly message: string }
  /** The time is up (F2). */
  | { readonly kind: 'given-up'; readonly message: string };

interface Drop {
  isRunning: boolean;
  isDone: boolean;
  failures: number;
  notBeforeMs: number;
  message: string;
}

const runningState = ({ failures, message }: Drop): DropState =>
  failures === 0 ? { kind: 'running' } : { kind: 'running', message };

const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;

export class Drops {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #drops = new Map<string, Drop>();

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** How the drop of an object stands; `start` begins it, and calls back when it ended. */
  advance(object: StoredObject, start: (ended: (ending: UpdateEnding) => void) => void, wake: () => void): DropState {
    const uid = object.metadata.uid ?? '';
    const drop = this.#dropOf(uid);
    if (drop.isDone) return { kind: 'done' };
    const nowMs = this.#clock.nowMs();
    const leftMs = this.leftMs(object);
    if (leftMs <= 0) return { kind: 'given-up', message: drop.message };
    if (drop.isRunning) return runningState(drop);
    if (nowMs < drop.notBeforeMs)
      return { kind: 'waiting', afterMs: Math.min(leftMs, drop.notBeforeMs - nowMs), message: drop.message };
    drop.isRunning = true;
    start((ending) => {
      this.#ended(drop, ending);
      wake();
    });
    return runningState(drop);
  }

  /** Time until the object is let go whatever happens. */
  leftMs({ metadata }: StoredObject): number {
    return Date.parse(metadata.deletionTimestamp ?? '') + this.#timeoutMs - this.#clock.nowMs();
  }

  forget(uid: string): void {
    this.#drops.delete(uid);
  }

  #ended(drop: Drop, ending: UpdateEnding): void {
    drop.isRunning = false;
    if (ending.result === 'Succeeded') {
      drop.isDone = true;
      return;
    }
    drop.failures++;
    const { outcome } = ending;
    drop.message = outcome.kind === 'failed' ? outcome.error.message : `the removal ended as ${ending.result}`;
    drop.notBeforeMs = this.#clock.nowMs() + Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (drop.failures - 1));
  }

  #dropOf(uid: string): Drop {
    const known = this.#drops.get(uid);
    if (known !== undefined) return known;
    const message = 'no runner could be asked to remove the rows';
    const fresh = { isRunning: false, isDone: false, failures: 0, notBeforeMs: 0, message };
    this.#drops.set(uid, fresh);
    return fresh;
  }
}
