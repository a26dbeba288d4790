// Everything that makes updates of one LiveSource: its schedule, its watcher, people, and edits.

import type { SourceChange } from '../../runner/protocol/index.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import type { UpdateEnding, UpdateObserver, UpdateView } from '../dispatch/index.ts';
import { Cycles, type CycleWish } from './cycles.ts';
import { causeOf, KeyUpdates, WATCH } from './keys.ts';
import type { UpdateDoor } from './ports.ts';
import { type Schedule, ScheduleTimer } from './schedule.ts';
import { WatchedDeletes } from './watched-deletes.ts';

export interface SourceTriggerSettings {
  /** `Refresh`: cycles on the schedule. `Watch`: per-key updates as changes arrive; the schedule is the net under the events. */
  readonly mode: 'Refresh' | 'Watch';
  /** Absent: cycles only when something else triggers them. */
  readonly schedule?: Schedule;
  readonly suspend?: boolean;
  /** Deletes that a watcher sees and that need no look at the whole source (T9). Absent: any number. */
  readonly watchedDeletesMax?: number;
}

/** Told about the updates of one source. */
export interface SourceObserver {
  opened?(update: UpdateView): void;
  started?(update: UpdateView): void;
  progress?(update: UpdateView): void;
  listed?(update: UpdateView): void;
  ended?(update: UpdateView, ending: UpdateEnding): void;
}

/** How long the first cycle in Watch mode waits for the watcher to be armed: a watcher that cannot start must not stop the indexing. */
export const ARM_PATIENCE_MS = 10_000;

export class SourceTriggers {
  readonly source: string;
  readonly cycles: Cycles;
  readonly keys: KeyUpdates;
  readonly #clock: Clock;
  readonly #timer: ScheduleTimer;
  #settings: SourceTriggerSettings;
  #cancelPatience: CancelTimer | undefined;
  #isStarted = false;

  constructor(options: {
    readonly clock: Clock;
    readonly door: UpdateDoor;
    readonly source: string;
    readonly settings: SourceTriggerSettings;
    readonly observer?: SourceObserver;
  }) {
    const { clock, door, source, settings, observer = {} } = options;
    this.source = source;
    this.#clock = clock;
    this.#settings = settings;
    const deletes = new WatchedDeletes(() => this.#settings.watchedDeletesMax ?? Number.POSITIVE_INFINITY);
    this.#timer = new ScheduleTimer(clock, () => this.want({ trigger: this.#settings.schedule?.kind ?? 'interval' }));
    this.cycles = new Cycles({
      door,
      source,
      deletes,
      observer: {
        ...observer,
        opened: (update) => {
          if (this.#settings.schedule?.kind === 'interval') this.#timer.stop();
          observer.opened?.(update);
        },
        listed: (update) => {
          this.#countFromNow();
          observer.listed?.(update);
        },
      },
    });
    this.keys = new KeyUpdates({ door, source, deletes, observer, overflow: () => this.want({ trigger: WATCH }) });
  }

  /**
   * The source exists now: the first cycle begins, in Watch mode as soon as the watcher is armed (its `rescan` says so). A source whose
   * cycles an earlier operator ran goes on after `delayMs`, so that a new leader does not list everything at once.
   */
  start(delayMs = 0): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#applySuspension();
    if (this.#settings.mode === 'Refresh' && delayMs <= 0) this.want({ trigger: 'start' });
    else if (this.#settings.mode === 'Refresh')
      this.#cancelPatience = this.#clock.after(delayMs, () => this.want({ trigger: 'start' }));
    else this.#cancelPatience = this.#clock.after(ARM_PATIENCE_MS, () => this.want({ trigger: 'start' }));
  }

  /** An update of an earlier operator goes on; the answer is to follow it. */
  adopt(update: UpdateView): UpdateObserver {
    return update.kind === 'cycle' ? this.cycles.adopt(update) : this.keys.adopt(update);
  }

  /** A cycle is wanted: by a schedule, a person, a push, an edit. */
  want(wish: CycleWish): void {
    this.#cancelPatience?.();
    this.#cancelPatience = undefined;
    const causes = wish.causes ?? [{ trigger: wish.trigger, atMs: this.#clock.nowMs() }];
    this.cycles.want({ ...wish, causes });
  }

  /** What the watcher, or a push, saw. */
  changed(changes: readonly SourceChange[], trigger = WATCH): void {
    for (const change of changes) {
      if (change.kind === 'rescan' || this.#settings.suspend === true)
        this.want({ trigger, causes: [causeOf(change, trigger)] });
      else this.keys.changed(change, trigger);
    }
  }

  /** New settings from now on; a source that goes on after a suspension lists at once. */
  edit(settings: SourceTriggerSettings): void {
    const wasSuspended = this.#settings.suspend === true;
    this.#settings = settings;
    if (!this.#isStarted) return;
    this.#applySuspension();
    if (wasSuspended && settings.suspend !== true) this.want({ trigger: 'resume' });
  }

  /** When the schedule is due next; undefined: never. */
  get dueAtMs(): number | undefined {
    return this.#timer.dueAtMs;
  }

  close(): void {
    this.#timer.stop();
    this.#cancelPatience?.();
    this.cycles.close();
  }

  /** T4: an interval counts from the end of the listing. */
  #countFromNow(): void {
    if (this.#settings.schedule?.kind === 'interval') this.#timer.set(this.#activeSchedule());
  }

  #applySuspension(): void {
    this.#timer.set(this.#activeSchedule());
    if (this.#settings.suspend === true) this.cycles.shut('suspended');
    else this.cycles.unshut('suspended');
  }

  #activeSchedule(): Schedule | undefined {
    return this.#settings.suspend === true ? undefined : this.#settings.schedule;
  }
}
