// Writes statuses: few at a time, seldom per object, never what stands there already.
//   W1. A status that says the same as the one that was written last, or that the cache shows, is not written. Times that move with
//       every idle cycle (`checkedAt`, `lastCycleAt`, `nextCycleAt`) alone are no reason to write (idle cycles write nothing).
//   W2. What changes is written `everyMs` later, with all that came meanwhile, unless a condition flips or somebody waits for an echo:
//       then at once. A count that went up and down again in that time is never written.
//   W3. What is written is made at the moment of writing, so that a wait never writes something old.
//   W4. At most `writers` requests are under way: more would only wait in the API server.
//   W5. Of what was written only the conditions and a hash are kept: ten thousand whole statuses stand in the cache already.
import { canonical, shortHash } from '../../blueprint/index.ts';
import type { CancelTimer, Clock } from '../../clock.ts';
import { keyOf, type StoredObject, type Writes } from '../ports.ts';

/** Any status with conditions; the parts that this room looks at. */
export interface AnyStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined;
  readonly handled?: object | undefined;
  readonly observedGeneration?: number | undefined;
}

/** Makes the status from what is known now; undefined: the object is gone, nothing is to be written. */
export type MakeStatus<S> = (
  previous: S | undefined,
) => { readonly object: StoredObject; readonly status: S } | undefined;

export interface StatusWriterOptions {
  readonly writes: Pick<Writes, 'applyStatus'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
  readonly writers?: number;
  readonly failed?: (key: string, error: unknown) => void;
}

interface Entry {
  uid: string | undefined;
  /** What the next status needs of the one before. */
  written: AnyStatus | undefined;
  /** Of all of it but the times that tick. */
  hash: string | undefined;
  make: MakeStatus<AnyStatus>;
  cancel: CancelTimer | undefined;
  isQueued: boolean;
}

const EVERY_MS = 3_000;
const WRITERS = 6;
const RETRY_MS = 5_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: string[] = [];
  #writing = 0;
  #written = 0;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Statuses that were written. */
  get written(): number {
    return this.#written;
  }

  /** Nothing waits to be written, not even for its time, and nothing is being written. */
  get isIdle(): boolean {
    if (this.#writing > 0 || this.#queue.length > 0) return false;
    for (const { cancel } of this.#entries.values()) if (cancel !== undefined) return false;
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
    if (entry.isQueued) return;
    const made = make(this.previous<S>(kind, object));
    if (made === undefined || hashOf(made.status) === entry.hash) return; // W1
    if (isUrgent(entry.written, made.status)) this.#enqueue(key, entry);
    else entry.cancel ??= this.#options.clock.after(this.#options.everyMs ?? EVERY_MS, () => this.#enqueue(key, entry));
  }

  forget(kind: string, key: string): void {
    const entry = this.#entries.get(`${kind}/${key}`);
    entry?.cancel?.();
    this.#entries.delete(`${kind}/${key}`);
  }

  #entryFor(key: string, object: StoredObject): Entry {
    const known = this.#entries.get(key);
    const { uid } = object.metadata;
    if (known !== undefined && known.uid === uid) return known;
    known?.cancel?.();
    const status = object.status as AnyStatus | undefined;
    const entry: Entry = {
      uid,
      written: status && outline(status),
      hash: status === undefined ? undefined : hashOf(status),
      make: () => undefined,
      cancel: undefined,
      isQueued: false,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #enqueue(key: string, entry: Entry): void {
    entry.cancel?.();
    entry.cancel = undefined;
    if (entry.isQueued || this.#entries.get(key) !== entry) return;
    entry.isQueued = true;
    this.#queue.push(key);
    this.#work();
  }

  #work(): void {
    while (this.#writing < (this.#options.writers ?? WRITERS) && !this.#options.signal.aborted) {
      const key = this.#queue.shift();
      if (key === undefined) return;
      const entry = this.#entries.get(key);
      if (entry === undefined) continue;
      this.#writing++;
      void this.#write(key, entry).finally(() => {
        this.#writing--;
        this.#work();
      });
    }
  }

  async #write(key: string, entry: Entry): Promise<void> {
    entry.isQueued = false;
    const made = entry.make(entry.written); // W3
    if (made === undefined) return;
    const hash = hashOf(made.status);
    if (hash === entry.hash) return;
    const before = { written: entry.written, hash: entry.hash };
    entry.written = outline(made.status);
    entry.hash = hash;
    try {
      const result = await this.#options.writes.applyStatus(made.object, made.status, this.#options.signal);
      if (result === 'done') this.#written++;
      else this.#entries.delete(key); // gone, or another object of the name: its events bring it back
    } catch (error) {
      entry.written = before.written;
      entry.hash = before.hash;
      if (this.#options.signal.aborted) return;
      this.#options.failed?.(key, error);
      entry.cancel ??= this.#options.clock.after(RETRY_MS, () => this.#enqueue(key, entry));
    }
  }
}

/** W5. */
const outline = ({ conditions, handled, observedGeneration }: AnyStatus): AnyStatus => ({
  conditions,
  handled,
  observedGeneration,
});

/** W1: what says the same gives the same hash. */
function hashOf(status: AnyStatus): string {
  const {
    lastCycleAt: _,
    nextCycleAt: __,
    freshness,
    ...rest
  } = status as AnyStatus & {
    lastCycleAt?: unknown;
    nextCycleAt?: unknown;
    freshness?: { readonly oldestChangeAt?: unknown };
  };
  return shortHash({ ...rest, oldestChangeAt: freshness?.oldestChangeAt }, 24);
}

/** W2. */
function isUrgent(written: AnyStatus | undefined, wanted: AnyStatus): boolean {
  const flips = (status: AnyStatus | undefined) =>
    canonical([
      // Progressing flips with each burst of small updates: it can wait.
      status?.conditions?.flatMap(({ type, status: is }) => (type === 'Progressing' ? [] : [[type, is]])) ?? [],
      status?.handled ?? {},
      status?.observedGeneration,
    ]);
  return flips(written) !== flips(wanted);
}
