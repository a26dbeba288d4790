// When a LiveSource lists: triggers come in, cycles come out.
//   T1. One listing at a time: a cycle opens only when no other of its source still lists.
//   T2. At most four cycles are open; while four are, nothing new opens.
//   T3. Triggers that find the door shut are joined into one next cycle, whatever their number. It lists after all of them, so it sees what
//       each of them meant; it carries what any of them asked for (reprocess, consent to deletes, release of quarantined items).
//   T4. The interval counts from the end of the last listing, so a listing that takes longer than the interval never piles up.
//   T5. Nothing opens while suspended, or while the gate is shut (an update of the whole Pipeline enters its work before the next cycle lists).
//       What came meanwhile opens one cycle afterwards.
import type { Cause, UpdateEnding, UpdateObserver, UpdateView } from '../dispatch/index.ts';
import type { UpdateDoor } from './ports.ts';
import type { WatchedDeletes } from './watched-deletes.ts';

/** What somebody wants of the next cycle. */
export interface CycleWish {
  /** What made it, such as `interval`, `watch`, `manual`. */
  readonly trigger: string;
  readonly reprocess?: boolean;
  readonly allowDeletes?: boolean;
  readonly releaseQuarantined?: boolean;
  /** Who asked and when, for the trace: of a joined wish all of them, up to a bound. */
  readonly causes?: readonly Cause[];
}

/** Told about the cycles of one source. */
export interface CycleObserver {
  opened?(update: UpdateView): void;
  started?(update: UpdateView): void;
  progress?(update: UpdateView): void;
  /** Its listing is over, well or not: the next one may begin. */
  listed?(update: UpdateView): void;
  ended?(update: UpdateView, ending: UpdateEnding): void;
}

/**
 * Who keeps cycles from opening. `pipeline`: an update of the whole Pipeline that still enters its work. `take-over`: runners of an earlier
 * operator have not reported.
 */
export type ShutReason = 'suspended' | 'pipeline' | 'take-over' | 'closed';

/** Cycles of one source that may be open at once: one lists, and three more may still have items that wait. */
export const OPEN_CYCLES_MAX = 4;

/** Causes that a wish carries; a storm of changes has more. */
const CAUSES_MAX = 16;

export class Cycles {
  readonly #door: UpdateDoor;
  readonly #source: string;
  readonly #observer: CycleObserver;
  readonly #deletes: WatchedDeletes | undefined;
  readonly #open = new Set<string>();
  #listing: string | undefined;
  #pending: CycleWish | undefined;
  readonly #shutBy = new Set<ShutReason>();

  constructor(options: {
    readonly door: UpdateDoor;
    readonly source: string;
    /** What the guard of a cycle counts beside what it finds missing. */
    readonly deletes?: WatchedDeletes;
    readonly observer?: CycleObserver;
  }) {
    this.#door = options.door;
    this.#source = options.source;
    this.#observer = options.observer ?? {};
    this.#deletes = options.deletes;
  }

  /** Opens a cycle now, or joins the wish into the next one. */
  want(wish: CycleWish): void {
    this.#pending = this.#pending === undefined ? wish : joined(this.#pending, wish);
    this.#openNext();
  }

  /** Whether a cycle lists, or waits to. */
  get isListing(): boolean {
    return this.#listing !== undefined;
  }

  /** What the next cycle will be for; undefined: nobody asked. */
  get pending(): CycleWish | undefined {
    return this.#pending;
  }

  get open(): ReadonlySet<string> {
    return this.#open;
  }

  /** A cycle that an earlier operator opened goes on; the answer is to follow it. */
  adopt(update: UpdateView): UpdateObserver {
    this.#open.add(update.name);
    if (!update.progress.listed) this.#listing ??= update.name;
    return this.#watch();
  }

  /** While anybody keeps it shut, wishes are kept and nothing opens (T5). */
  shut(by: ShutReason): void {
    this.#shutBy.add(by);
  }

  unshut(by: ShutReason): void {
    if (this.#shutBy.delete(by)) this.#openNext();
  }

  /** Forgets what is pending, for good; open cycles are the caller's to cancel. */
  close(): void {
    this.#pending = undefined;
    this.#shutBy.add('closed');
  }

  #openNext(): void {
    const wish = this.#pending;
    if (wish === undefined || this.#shutBy.size > 0) return;
    if (this.#listing !== undefined || this.#open.size >= OPEN_CYCLES_MAX) return;
    this.#pending = undefined;
    const deletedBefore = this.#deletes?.done ?? 0;
    const update = this.#door.startUpdate({
      kind: 'cycle',
      source: this.#source,
      ...wish,
      ...(deletedBefore > 0 && { input: { deletedBefore } }),
      observer: this.#watch(deletedBefore),
    });
    this.#listing = update.name;
    this.#open.add(update.name);
    this.#observer.opened?.(update);
  }

  #watch(deletedBefore = 0): UpdateObserver {
    return {
      started: (update) => this.#observer.started?.(update),
      progress: (update) => {
        if (update.progress.listed) this.#listed(update);
        this.#observer.progress?.(update);
      },
      ended: (update, ending) => {
        this.#open.delete(update.name);
        this.#listed(update);
        this.#deletes?.cycleEnded(ending, deletedBefore);
        this.#observer.ended?.(update, ending);
        this.#openNext();
      },
    };
  }

  #listed(update: UpdateView): void {
    if (this.#listing !== update.name) return;
    this.#listing = undefined;
    this.#observer.listed?.(update);
    this.#openNext();
  }
}

/** One cycle for both: the first one's name, and everything that either asked for. */
function joined(first: CycleWish, second: CycleWish): CycleWish {
  const either = (name: 'reprocess' | 'allowDeletes' | 'releaseQuarantined') =>
    first[name] === true || second[name] === true ? { [name]: true } : {};
  const causes = [...(first.causes ?? []), ...(second.causes ?? [])];
  return {
    trigger: first.trigger,
    ...(causes.length > 0 && { causes: causes.slice(0, CAUSES_MAX) }),
    ...either('reprocess'),
    ...either('allowDeletes'),
    ...either('releaseQuarantined'),
  };
}
