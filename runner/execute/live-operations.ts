// What a live component asks for: one key at a time, or everything.
//
//   O1. Of one key at most one operation runs and one, the newest, waits. A running one is never interrupted.
//   O2. An operation that a newer one of its key replaces before it began is superseded and takes no slot.
//   O3. A full pass waits until no key runs; keys that are asked for meanwhile wait until it ended. Of several that wait the newest is run.
//   O4. Once closed, what waits ends as cancelled, and what runs is left to end by itself.
import type { RunOutcome } from '../protocol/index.ts';
import type { LiveOutcome } from '../sdk/index.ts';
import type { Mounts, MountWish } from './mounts.ts';

interface Operation {
  readonly wish: MountWish;
  readonly settle: (outcome: LiveOutcome) => void;
}

interface Running extends Operation {
  readonly mount: number;
}

/** What is asked of one key. */
interface Lane {
  running?: Running | undefined;
  next?: Operation | undefined;
}

export class LiveOperations {
  readonly #mounts: Mounts;
  readonly #lanes = new Map<string, Lane>();
  /** Keys with something that may begin, oldest first. */
  readonly #due = new Set<string>();
  readonly #full: Lane = {};
  #runningKeys = 0;
  #isClosed = false;

  constructor(mounts: Mounts) {
    this.#mounts = mounts;
    mounts.onChange = () => this.#pump();
  }

  /** Whether something is under way that may change the key's component. */
  isBusy(path: string): boolean {
    return this.#lanes.has(path) || this.#full.running !== undefined || this.#full.next !== undefined;
  }

  key(wish: MountWish): Promise<LiveOutcome> {
    if (this.#isClosed) return Promise.resolve('cancelled');
    const lane = this.#lanes.get(wish.path) ?? {};
    this.#lanes.set(wish.path, lane);
    this.#withdraw(lane);
    if (lane.running === undefined) this.#due.add(wish.path);
    return this.#submit(lane, wish);
  }

  full(wish: MountWish): Promise<LiveOutcome> {
    return this.#submit(this.#full, wish);
  }

  close(): void {
    this.#isClosed = true;
    for (const lane of [this.#full, ...this.#lanes.values()]) {
      lane.next?.settle('cancelled');
      lane.next = undefined;
      lane.running?.settle('cancelled');
    }
    this.#lanes.clear();
    this.#due.clear();
    this.#mounts.letGo();
  }

  #submit(lane: Lane, wish: MountWish): Promise<LiveOutcome> {
    if (this.#isClosed) return Promise.resolve('cancelled');
    return new Promise((settle) => {
      lane.next?.settle('superseded');
      lane.next = { wish, settle };
      this.#pump();
    });
  }

  /** O2: one that waits for its slot need not have it any more. */
  #withdraw(lane: Lane): void {
    if (lane.running === undefined || !this.#mounts.withdraw(lane.running.mount)) return;
    lane.running.settle('superseded');
    lane.running = undefined;
    this.#runningKeys -= 1;
  }

  #pump(): void {
    if (this.#isClosed || this.#full.running !== undefined) return;
    if (this.#full.next !== undefined) {
      if (this.#runningKeys === 0) this.#start(this.#full, () => this.#pump());
      return;
    }
    for (const path of this.#due) {
      if (!this.#mounts.hasRoom) return;
      this.#due.delete(path);
      const lane = this.#lanes.get(path);
      if (lane === undefined) continue;
      this.#runningKeys += 1;
      this.#start(lane, () => this.#keyEnded(path, lane));
    }
  }

  #keyEnded(path: string, lane: Lane): void {
    this.#runningKeys -= 1;
    if (lane.next === undefined) this.#lanes.delete(path);
    else this.#due.add(path);
    this.#pump();
  }

  #start(lane: Lane, ended: () => void): void {
    const operation = lane.next as Operation;
    lane.next = undefined;
    const mount = this.#mounts.mount(operation.wish, (outcome) => {
      lane.running = undefined;
      operation.settle(outcomeOf(outcome));
      ended();
    });
    lane.running = { ...operation, mount };
  }
}

function outcomeOf({ kind }: RunOutcome): LiveOutcome {
  return kind === 'parked' ? 'failed' : kind;
}
