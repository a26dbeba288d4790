// The runners of one Pipeline as its operator sees them: which pod a session belongs to, how busy each is, and what runs ask of each class.
import type { Clock } from '../clock.ts';
import type { Seat, SeatPhase } from '../dispatch/index.ts';
import type { Activity } from './activity.ts';
import { commonClass, type HostSpecs } from './specs.ts';

/** A runner as scaling looks at it. */
export interface RunnerOnHost {
  readonly slots: number;
  /** Runs that it has, parents that wait included. */
  readonly runs: number;
  readonly isDraining: boolean;
  /** It drains and has nothing left. */
  readonly isDrained: boolean;
  readonly idleSinceMs?: number;
}

/** A runner as people look at it. */
export interface RunnerPicture {
  readonly name: string;
  readonly class: string;
  readonly phase: SeatPhase;
  readonly slots: number;
  /** Runs that execute there; parents whose slot is lent do not count. */
  readonly executing: number;
}

export interface ClassDemand {
  readonly executing: number;
  readonly waiting: number;
  /** For a class with cards: shares of them that these runs ask for, in thousandths of a card. */
  readonly milliCards?: number;
}

interface SeatOnHost {
  readonly seat: Seat;
  readonly runner: string;
  idleSinceMs: number | undefined;
}

export class Seats {
  readonly #clock: Clock;
  readonly #activity: Activity;
  readonly #seats = new Map<Seat, SeatOnHost>();

  constructor(clock: Clock, activity: Activity) {
    this.#clock = clock;
    this.#activity = activity;
  }

  /** `session`: starts with the name of the pod and a slash. */
  add(session: string, seat: Seat): void {
    this.#seats.set(seat, { seat, runner: session.split('/')[0]!, idleSinceMs: this.#clock.nowMs() });
  }

  remove(seat: Seat): void {
    this.#seats.delete(seat);
  }

  /** The newest session of a pod that takes new runs. */
  servingOf(pod: string): Seat | undefined {
    const seat = this.#seatOf(pod)?.seat;
    return seat?.phase === 'serving' ? seat : undefined;
  }

  /** A runner by its pod's name; undefined: it is not connected. */
  ofPod(pod: string): RunnerOnHost | undefined {
    const found = this.#seatOf(pod);
    if (found === undefined) return undefined;
    const { seat } = found;
    const runs = Math.max(this.#activity.onRunner(seat.name), seat.executing);
    const isDraining = seat.phase === 'draining';
    if (runs > 0) found.idleSinceMs = undefined;
    else found.idleSinceMs ??= this.#clock.nowMs();
    return {
      slots: seat.slots,
      runs,
      isDraining,
      isDrained: isDraining && runs === 0,
      ...(found.idleSinceMs !== undefined && { idleSinceMs: found.idleSinceMs }),
    };
  }

  /** What runs ask for, by class of runner. A source that is watched needs one runner, whatever else happens. */
  demand({ pipeline, slotsMax }: HostSpecs, hasWatchers: boolean): Map<string, ClassDemand> {
    const common = commonClass(pipeline);
    return new Map(
      pipeline.runners.map(({ name, gpus }) => {
        const { executing, waiting, milliCards } = this.#demandOf(name, name === common, slotsMax);
        const forWatchers = name === common && executing + waiting === 0 && hasWatchers ? 1 : 0;
        return [name, { executing, waiting: waiting + forWatchers, ...(gpus > 0 && { milliCards }) }];
      }),
    );
  }

  /** Runners that are connected, in the order in which they joined. */
  get pictures(): readonly RunnerPicture[] {
    return [...this.#seats.values()].map(({ seat, runner }) => ({
      name: runner,
      class: seat.runnerClass,
      phase: seat.phase,
      slots: seat.slots,
      executing: seat.executing,
    }));
  }

  #demandOf(runnerClass: string, isCommon: boolean, slotsMax: number): Required<ClassDemand> {
    const seats = [...this.#seats.keys()].filter((seat) => seat.runnerClass === runnerClass);
    const waiting = this.#activity.waitingFor(runnerClass);
    const runs = waiting.runs + (isCommon ? this.#activity.waitingFor(undefined).runs : 0);
    const admissible = Math.min(runs, slotsMax);
    const perRun = waiting.runs === 0 ? 0 : waiting.milliCards / waiting.runs;
    return {
      executing: sum(seats, ({ executing }) => executing),
      waiting: admissible,
      milliCards: sum(seats, ({ spokenMilli }) => spokenMilli) + Math.ceil(perRun * Math.min(waiting.runs, admissible)),
    };
  }

  /** The newest session of a pod. */
  #seatOf(pod: string): SeatOnHost | undefined {
    let newest: SeatOnHost | undefined;
    for (const found of this.#seats.values()) if (found.runner === pod) newest = found;
    return newest;
  }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);
