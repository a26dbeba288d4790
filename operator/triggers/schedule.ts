// Times at which a source lists by itself: an interval, or a cron expression.
import { Cron } from 'croner';
import type { CancelTimer, Clock } from '../clock.ts';

export type Schedule =
  | { readonly kind: 'interval'; readonly everyMs: number }
  /** `zone`: a name of the time zone database; absent: UTC, so that every machine agrees. */
  | { readonly kind: 'cron'; readonly expression: string; readonly zone?: string };

/** Longest single timer: what a 32-bit timer holds, with room. */
const TIMER_MAX_MS = 2 ** 30;

/** Calls `due` at the times of a schedule, once each, until stopped. An interval starts again at `restart`. */
export class ScheduleTimer {
  readonly #clock: Clock;
  readonly #due: () => void;
  #schedule: Schedule | undefined;
  #dueAtMs: number | undefined;
  #cancel: CancelTimer | undefined;

  constructor(clock: Clock, due: () => void) {
    this.#clock = clock;
    this.#due = due;
  }

  set(schedule: Schedule | undefined): void {
    this.#schedule = schedule;
    this.restart();
  }

  /** An interval counts from now; a cron expression keeps its times. */
  restart(): void {
    this.stop();
    this.#dueAtMs = this.#schedule === undefined ? undefined : nextDueMs(this.#schedule, this.#clock.nowMs());
    this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#dueAtMs = undefined;
  }

  /** When it is due next; undefined: never. */
  get dueAtMs(): number | undefined {
    return this.#dueAtMs;
  }

  #arm(): void {
    const dueAtMs = this.#dueAtMs;
    if (dueAtMs === undefined) return;
    const leftMs = Math.max(0, dueAtMs - this.#clock.nowMs());
    this.#cancel = this.#clock.after(Math.min(leftMs, TIMER_MAX_MS), () => {
      if (this.#clock.nowMs() < dueAtMs) return this.#arm();
      this.restart();
      this.#due();
    });
  }
}

/** The first time of the schedule after `fromMs`; undefined: there is none. */
export function nextDueMs(schedule: Schedule, fromMs: number): number | undefined {
  if (schedule.kind === 'interval') return fromMs + schedule.everyMs;
  const cron = new Cron(schedule.expression, { timezone: schedule.zone ?? 'UTC', paused: true });
  return cron.nextRun(new Date(fromMs))?.getTime();
}
