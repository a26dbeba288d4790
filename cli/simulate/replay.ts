// Replays a workload on a virtual clock, against whatever admits its runs.
// Owns:   time, the tasks' lengths, which row of the picture a task is drawn in.
// Leaves: who runs next (`Admission`).
//   V1. Arrivals are scheduled first, in file order; things of one instant happen in the order in which they were scheduled.
//   V2. An update's tasks ask one after another at its arrival, or, when lending, when its root run starts.
//   V4. A task that uses cards asks for its share when it has its slot, keeps the slot while it waits, and takes its time from the grant on.
//   V3. A root run that lends executes nothing itself; it ends with the last of its tasks.
import { Timeline } from './timeline.ts';
import type { Workload } from './workload.ts';

/** One run of the workload: a task, or the root run that lends to an update's tasks. */
export interface SimulatedRun {
  /** Index of its update in the workload. */
  readonly update: number;
  readonly parent?: SimulatedRun;
  readonly isRoot: boolean;
}

/** What admits runs. Both calls answer with the runs that start because of them, in order. */
export interface Admission {
  request(run: SimulatedRun): readonly SimulatedRun[];
  end(run: SimulatedRun): readonly SimulatedRun[];
}

/** A task whose share was granted. */
export interface CardGrant {
  readonly run: SimulatedRun;
  /** Indices of its cards. */
  readonly cards: readonly number[];
}

/** What gives shares of cards; both calls answer with the shares that they cause. */
export interface CardAdmission {
  request(run: SimulatedRun, milli: number): readonly CardGrant[];
  end(run: SimulatedRun): readonly CardGrant[];
}

/** A task with its share of cards. */
export interface CardHold {
  readonly update: number;
  readonly cards: readonly number[];
  /** Thousandths, of all its cards. */
  readonly milli: number;
  /** From when on it waited for the share. */
  readonly askedMs: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** A task on its slot. */
export interface Hold {
  readonly update: number;
  /** Row of the picture, from 0. */
  readonly slot: number;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Replay {
  /** Tasks in the order in which they ended. */
  readonly holds: readonly Hold[];
  /** Tasks that used cards, in the order in which they ended. */
  readonly cardHolds: readonly CardHold[];
  /** By update: when its last task ended. */
  readonly finishedAtMs: readonly number[];
}

type Event =
  | { readonly kind: 'arrives'; readonly update: number }
  | { readonly kind: 'ends'; readonly task: Task; readonly cards: readonly number[]; readonly bodyFromMs: number };

/** A task that has its slot. */
interface Task {
  readonly run: SimulatedRun;
  readonly slot: number;
  readonly startMs: number;
}

/** Replays the workload to its end. */
export function replay(workload: Workload, admission: Admission, cards?: CardAdmission): Replay {
  return new Playback(workload, admission, cards).run();
}

class Playback {
  readonly #workload: Workload;
  readonly #admission: Admission;
  readonly #cards: CardAdmission | undefined;
  readonly #timeline = new Timeline<Event>();
  readonly #holds: Hold[] = [];
  readonly #cardHolds: CardHold[] = [];
  /** Tasks that have their slot and wait for a share. */
  readonly #waiting = new Map<SimulatedRun, Task>();
  readonly #finishedAtMs: number[];
  /** Tasks that have not ended, by update. */
  readonly #left: number[];
  /** Rows of the picture that nobody is drawn in; the last one is taken first. */
  readonly #freeSlots: number[];

  constructor(workload: Workload, admission: Admission, cards: CardAdmission | undefined) {
    this.#workload = workload;
    this.#admission = admission;
    this.#cards = cards;
    this.#left = workload.updates.map((update) => update.tasks);
    this.#finishedAtMs = workload.updates.map(() => 0);
    this.#freeSlots = Array.from({ length: workload.slots }, (_, at) => workload.slots - 1 - at);
  }

  run(): Replay {
    for (const [update, { at }] of this.#workload.updates.entries())
      this.#timeline.schedule(at, { kind: 'arrives', update });
    for (let next = this.#timeline.next(); next !== undefined; next = this.#timeline.next()) {
      if (next.event.kind === 'ends') this.#end(next.event, next.atMs);
      else this.#arrive(next.event.update, next.atMs);
    }
    if (this.#left.some((count) => count > 0)) throw new Error('tasks were left without a slot or a card (A5)');
    return { holds: this.#holds, cardHolds: this.#cardHolds, finishedAtMs: this.#finishedAtMs };
  }

  #arrive(update: number, nowMs: number): void {
    if (this.#workload.lending) this.#startAll(this.#admission.request({ update, isRoot: true }), nowMs);
    else this.#askForTasks(update, nowMs);
  }

  #askForTasks(update: number, nowMs: number, parent?: SimulatedRun): void {
    for (let count = this.#workload.updates[update]!.tasks; count > 0; count--)
      this.#startAll(this.#admission.request({ update, isRoot: false, ...(parent && { parent }) }), nowMs);
  }

  #startAll(runs: readonly SimulatedRun[], nowMs: number): void {
    for (const run of runs)
      if (run.isRoot) this.#askForTasks(run.update, nowMs, run);
      else this.#startTask(run, nowMs);
  }

  #startTask(run: SimulatedRun, startMs: number): void {
    const slot = this.#freeSlots.pop();
    if (slot === undefined) throw new Error('more tasks run than there are slots (A4)');
    const task = { run, slot, startMs };
    const { gpu } = this.#workload.updates[run.update]!;
    if (gpu === undefined || this.#cards === undefined) this.#startBody(task, [], startMs);
    else {
      this.#waiting.set(run, task);
      this.#grant(this.#cards.request(run, gpu), startMs);
    }
  }

  #grant(grants: readonly CardGrant[], nowMs: number): void {
    for (const { run, cards } of grants) {
      const task = this.#waiting.get(run)!;
      this.#waiting.delete(run);
      this.#startBody(task, cards, nowMs);
    }
  }

  #startBody(task: Task, cards: readonly number[], bodyFromMs: number): void {
    const { each } = this.#workload.updates[task.run.update]!;
    this.#timeline.schedule(bodyFromMs + each, { kind: 'ends', task, cards, bodyFromMs });
  }

  #end({ task, cards, bodyFromMs }: Event & { kind: 'ends' }, endMs: number): void {
    const { run, slot, startMs } = task;
    const { update, parent } = run;
    this.#holds.push({ update, slot, startMs, endMs });
    this.#freeSlots.push(slot);
    this.#finishedAtMs[update] = endMs;
    this.#left[update]!--;
    if (cards.length > 0) this.#endCards(task, cards, bodyFromMs, endMs);
    this.#startAll(this.#admission.end(run), endMs);
    if (parent !== undefined && this.#left[update] === 0) this.#startAll(this.#admission.end(parent), endMs);
  }

  #endCards({ run, startMs: askedMs }: Task, cards: readonly number[], startMs: number, endMs: number): void {
    const milli = this.#workload.updates[run.update]!.gpu!;
    this.#cardHolds.push({ update: run.update, cards, milli, askedMs, startMs, endMs });
    this.#grant(this.#cards!.end(run), endMs);
  }
}
