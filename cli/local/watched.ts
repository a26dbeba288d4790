// What `fairlead top`, `why` and the dashboard see of a Pipeline in this process: records of its updates, and what happened lately.
import type { Watched } from '../../operator/api/index.ts';
import type { DispatchEvents, Dispatcher, Seat, UpdateEnding, UpdateView } from '../../operator/dispatch/index.ts';
import {
  type Activity,
  CardMeter,
  cardsPicture,
  type HostSpecs,
  OWN_UPDATES,
  Recent,
  Records,
} from '../../operator/host/index.ts';
import type { PipelineTriggers } from '../../operator/triggers/index.ts';
import type { Clock } from '../../runner/clock.ts';

/** Follows a local Pipeline's dispatcher. */
export class Watcher implements DispatchEvents {
  readonly #clock: Clock;
  readonly #records = new Map<string, Records>();
  readonly recent: Recent;
  readonly cards: CardMeter;

  constructor(clock: Clock, sources: Iterable<string>) {
    this.#clock = clock;
    this.recent = new Recent(clock);
    this.cards = new CardMeter(() => clock.nowMs());
    for (const source of [OWN_UPDATES, ...sources]) this.#records.set(source, new Records());
  }

  /** All that is to hear what the dispatcher does. */
  get followers(): readonly DispatchEvents[] {
    return [this, this.recent, this.cards];
  }

  records(source: string | undefined): Records | undefined {
    return this.#records.get(source ?? OWN_UPDATES);
  }

  updateOpened(update: UpdateView): void {
    this.records(update.start.source)?.opened(update);
  }

  updateEnded(update: UpdateView, ending: UpdateEnding): void {
    this.records(update.start.source)?.ended(update, ending, this.#clock.nowMs());
  }
}

export interface WatchedParts {
  readonly name: string;
  readonly specs: () => HostSpecs;
  readonly dispatcher: Dispatcher;
  readonly triggers: PipelineTriggers;
  readonly seat: Seat;
  readonly slots: Activity;
  readonly watcher: Watcher;
}

export function watchedOf(parts: WatchedParts): Watched {
  const { name, specs, dispatcher, triggers, seat, slots, watcher } = parts;
  return {
    name,
    get specs() {
      return specs();
    },
    dispatcher,
    recent: watcher.recent,
    get runners() {
      const { name, runnerClass, phase, slots: size, executing } = seat;
      return [{ name, class: runnerClass, phase, slots: size, executing }];
    },
    get cards() {
      return cardsPicture(dispatcher, watcher.cards);
    },
    sources: [...specs().sources.keys()],
    records: (source) => watcher.records(source),
    activity: (source) => (source === undefined ? slots.total : slots.of(source)),
    nextCycleAtMs: (source) => triggers.source(source)?.dueAtMs,
  };
}
