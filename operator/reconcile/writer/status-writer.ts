// Writes statuses: few at a time, seldom per object, never what stands there already.
//   W1. A status that says the same as the one that was written last, or that the cache shows, is not written. Times that move with
//       every idle cycle (`checkedAt`, `lastCycleAt`, `nextCycleAt`) alone are no reason to write (idle cycles write nothing).
//   W2. What changes is written when its pace says so (pace.ts), with all that came meanwhile. What went up and down again in that time is
//       never written.
//   W3. What is written is made at the moment of writing, so that a wait never writes something old.
//   W4. At most `writers` requests are under way, and what can wait keeps to a budget for all objects together (budget.ts): more would only
//       wait in the API server. What is urgent goes first and waits for no budget.
//   W5. Of what was written only the conditions and a gist are kept: ten thousand whole statuses stand in the cache already.
//   W6. Of one object at most one status is under way: two on two connections may arrive in either order, and the older would stand for good.
//   W7. The event loop turns between statuses: making one and finding that there is nothing to write waits for nothing, and ten thousand in a row
//       would keep the lease from being renewed and runners from being heard.
import type { CancelTimer, Clock } from '../../clock.ts';
import { SharedConditions } from '../objects/shared-conditions.ts';
import { keyOf, type StoredObject, type WriteResult, type Writes } from '../ports.ts';
import { WriteBudget, type WriteRate } from './budget.ts';
import { type AnyStatus, type Gist, gistOf, type Pace, paceOf } from './pace.ts';

/** Makes the status from what is known now; undefined: the object is gone, nothing is to be written. */
export type MakeStatus<S> = (
  previous: S | undefined,
) => { readonly object: StoredObject; readonly status: S } | undefined;

export interface StatusWriterOptions {
  readonly writes: Pick<Writes, 'applyStatus'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long what is to be written soon may wait; what is to be written later or seldom waits ten and a hundred times as long. */
  readonly everyMs?: number;
  readonly writers?: number;
  readonly rate?: WriteRate;
  readonly failed?: (key: string, error: unknown) => void;
}

interface Entry {
  uid: string | undefined;
  /** What the next status needs of the one before. */
  written: AnyStatus | undefined;
  gist: Gist | undefined;
  make: MakeStatus<AnyStatus>;
  timer: { readonly pace: Pace; readonly cancel: CancelTimer } | undefined;
}

const EVERY_MS = 3_000;
const TIMES: Readonly<Record<Exclude<Pace, 'now'>, number>> = { soon: 1, later: 10, seldom: 100 };
const WRITERS = 6;
/** More than 200 status writes a second an API server of two cores does not take, whatever the number of writers. */
const RATE: WriteRate = { perSecond: 20, perSecondMin: 5, perSecondMax: 200, burst: 50 };
const RETRY_MS = 5_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #budget: WriteBudget;
  readonly #entries = new Map<string, Entry>();
  readonly #conditions = new SharedConditions();
  /** Keys in the order in which they are written. */
  readonly #urgent = new Set<string>();
  readonly #due = new Set<string>();
  /** Keys whose status is under way (W6). */
  readonly #underWay = new Set<string>();
  #cancelBudget: CancelTimer | undefined;
  #soon: NodeJS.Immediate | undefined;
  #written = 0;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#budget = new WriteBudget(options.clock, options.rate ?? RATE);
  }

  /** Statuses that were written. */
  get written(): number {
    return this.#written;
  }

  /** Nothing is being written or waits for its time, but figures of a moment. */
  get isIdle(): boolean {
    if (this.#underWay.size + this.#urgent.size + this.#due.size > 0) return false;
    for (const { timer } of this.#entries.values()) if (timer !== undefined && timer.pace !== 'seldom') return false;
    return true;
  }

  /** Conditions and echoes of what was last written for an object, or the status that stands in the copy that is given. */
  previous<S extends AnyStatus>(kind: string, object: StoredObject): S | undefined {
    const entry = this.#entries.get(`${kind}/${keyOf(object)}`);
    const isKnown = entry !== undefined && entry.uid === object.metadata.uid && entry.written !== undefined;
    return (isKnown ? entry.written : object.status) as S | undefined;
  }

  /** Looks whether the status of an object changed, and writes it now or when its time has come. */
  offer<S extends AnyStatus>(kind: string, object: StoredObject, make: MakeStatus<S>): void {
    const key = `${kind}/${keyOf(object)}`;
    const entry = this.#entryFor(key, object);
    entry.make = make as unknown as MakeStatus<AnyStatus>;
    if (this.#urgent.has(key)) return;
    const made = make(this.previous<S>(kind, object));
    const pace = made && paceOf(entry.gist, gistOf(made.status));
    if (pace === undefined) return; // W1
    if (pace === 'now') this.#enqueue(key, entry, this.#urgent);
    else if (!this.#due.has(key)) this.#wait(key, entry, pace, this.#waitOf(pace));
  }

  forget(kind: string, key: string): void {
    this.#drop(`${kind}/${key}`);
  }

  #entryFor(key: string, object: StoredObject): Entry {
    const known = this.#entries.get(key);
    const { uid } = object.metadata;
    if (known !== undefined && known.uid === uid) return known;
    this.#drop(key);
    const status = object.status as AnyStatus | undefined;
    const entry: Entry = {
      uid,
      written: status && this.#outline(status),
      gist: status && gistOf(status),
      make: () => undefined,
      timer: undefined,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #drop(key: string): void {
    this.#entries.get(key)?.timer?.cancel();
    this.#entries.delete(key);
    this.#urgent.delete(key);
    this.#due.delete(key);
  }

  #waitOf(pace: Exclude<Pace, 'now'>): number {
    return (this.#options.everyMs ?? EVERY_MS) * TIMES[pace];
  }

  /** A wait that has begun goes on; only a shorter one takes its place. */
  #wait(key: string, entry: Entry, pace: Exclude<Pace, 'now'>, waitMs: number): void {
    const { timer } = entry;
    if (timer !== undefined && timer.pace !== 'now' && TIMES[timer.pace] <= TIMES[pace]) return;
    timer?.cancel();
    const cancel = this.#options.clock.after(waitMs, () => this.#enqueue(key, entry, this.#due));
    entry.timer = { pace, cancel };
  }

  #enqueue(key: string, entry: Entry, queue: Set<string>): void {
    entry.timer?.cancel();
    entry.timer = undefined;
    if (this.#entries.get(key) !== entry) return;
    this.#due.delete(key);
    queue.add(key);
    this.#work();
  }

  #work(): void {
    while (this.#underWay.size < (this.#options.writers ?? WRITERS) && !this.#options.signal.aborted) {
      const key = this.#next();
      if (key === undefined) return;
      const entry = this.#entries.get(key);
      if (entry === undefined) continue;
      this.#underWay.add(key);
      void this.#write(key, entry).finally(() => {
        this.#underWay.delete(key);
        this.#workSoon();
      });
    }
  }

  /** W7. */
  #workSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#work();
    });
  }

  /** W4. */
  #next(): string | undefined {
    const urgent = this.#first(this.#urgent);
    if (urgent !== undefined) {
      this.#urgent.delete(urgent);
      return urgent;
    }
    const due = this.#first(this.#due);
    if (due === undefined) return undefined;
    const { waitMs } = this.#budget;
    if (waitMs === 0) this.#due.delete(due);
    else
      this.#cancelBudget ??= this.#options.clock.after(waitMs, () => {
        this.#cancelBudget = undefined;
        this.#work();
      });
    return waitMs === 0 ? due : undefined;
  }

  /** W6; what is under way is passed over: at most `writers` keys. */
  #first(queue: ReadonlySet<string>): string | undefined {
    for (const key of queue) if (!this.#underWay.has(key)) return key;
    return undefined;
  }

  async #write(key: string, entry: Entry): Promise<void> {
    const made = entry.make(entry.written); // W3
    const gist = made && gistOf(made.status);
    if (made === undefined || gist === undefined || paceOf(entry.gist, gist) === undefined) return;
    const before = { written: entry.written, gist: entry.gist };
    entry.written = this.#outline(made.status);
    entry.gist = gist;
    this.#budget.spend();
    const result = await this.#applied(key, made.object, made.status);
    if (result === 'done') this.#written++;
    else if (result === 'gone') this.#forgetEntry(key, entry);
    else {
      Object.assign(entry, before);
      if (!this.#options.signal.aborted) this.#wait(key, entry, 'soon', RETRY_MS);
    }
  }

  /** `conflict`: also what a server that is away or refuses comes to; the next attempt is made from what is known then. */
  async #applied(key: string, object: StoredObject, status: object): Promise<WriteResult> {
    const { writes, signal, failed, clock } = this.#options;
    const startedMs = clock.nowMs();
    try {
      const result = await writes.applyStatus(object, status, signal);
      this.#budget.answered(clock.nowMs() - startedMs, false);
      return result;
    } catch (error) {
      this.#budget.answered(clock.nowMs() - startedMs, true);
      if (!signal.aborted) failed?.(key, error);
      return 'conflict';
    }
  }

  /** The object is gone, or is another one of the name: its events bring it back. */
  #forgetEntry(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#drop(key);
  }

  /** W5. */
  #outline({ conditions, handled, observedGeneration }: AnyStatus): AnyStatus {
    return { conditions: conditions && this.#conditions.of(conditions), handled, observedGeneration };
  }
}
