// Commits of many components in one transaction of the state store.
//
//   C1. What waits when a turn of the event loop ends leaves as one group (at most GROUP_MAX components, ROWS_MAX rows).
//   C2. Rows outside the store are recorded as intended before they are applied, and applied before the state records them (roll forward).
//       A component is recorded only if all its targets took its change: a delete is forgotten only after the target confirmed it (F35).
//   C3. A group that a target or the store refuses is halved until the guilty component is found; the others commit.
//   C4. Components of one group are different ones: the dispatcher runs one execution of a component at a time.
import type { Clock } from '../clock.ts';
import { TARGET_STEP } from '../protocol/index.ts';
import { afterThisTurn, type Gather } from './batch.ts';
import { type Cancellation, Cancelled } from './cancellation.ts';
import { RunFailure, toRunError } from './failure.ts';
import type { Commit, CommitResult, Intent, RowChange, StateStore, Target } from './ports.ts';

const GROUP_MAX = 512;
const ROWS_MAX = 8_192;
/** How long a cancelled run waits for a commit that is on its way, to be able to say what became of it. */
const GRACE_MS = 500;
/** Groups on their way at once; more only helps a store or target that is far away. */
const GROUPS_MAX = 4;

/** One component's commit with what it does to targets outside the store. */
export interface PendingCommit {
  readonly commit: Commit;
  readonly outside: readonly { readonly target: Target; readonly change: RowChange }[];
  /** Present when `outside` is not empty. */
  readonly intent?: Intent;
}

/** `applied`: rows outside the store were written although the commit was refused (C2). */
export type Committed = CommitResult & { readonly applied?: boolean };

interface Waiting {
  readonly pending: PendingCommit;
  readonly rows: number;
  readonly resolve: (result: Committed) => void;
  readonly reject: (error: unknown) => void;
  /** Of the run, with what it calls when it is cancelled meanwhile. */
  readonly cancellation: Cancellation | undefined;
  readonly onCancel: (() => void) | undefined;
}

export class Committer {
  readonly #state: StateStore;
  readonly #clock: Clock;
  readonly #gather: Gather;
  readonly #committed: (components: number) => void;
  #waiting: Waiting[] = [];
  #groups = 0;
  #isGathering = false;

  /** `committed` hears of each transaction. */
  constructor(
    state: StateStore,
    clock: Clock,
    committed: (components: number) => void = () => {},
    gather: Gather = afterThisTurn,
  ) {
    this.#state = state;
    this.#clock = clock;
    this.#committed = committed;
    this.#gather = gather;
  }

  /** Rejects with the store's or target's error when this component is the one that fails; with `Cancelled` some time after that. */
  commit(pending: PendingCommit, cancellation?: Cancellation): Promise<Committed> {
    return new Promise((resolve, reject) => {
      const onCancel = cancellation && (() => this.#clock.after(GRACE_MS, () => reject(new Cancelled(TOO_LATE))));
      if (onCancel !== undefined) cancellation?.onCancel(onCancel);
      this.#waiting.push({ pending, rows: rowsIn(pending), resolve, reject, cancellation, onCancel });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isGathering || this.#waiting.length === 0 || this.#groups >= GROUPS_MAX) return;
    this.#isGathering = true;
    this.#gather(() => {
      this.#isGathering = false;
      const group = this.#takeGroup();
      this.#groups += 1;
      void this.#send(group).finally(() => {
        this.#groups -= 1;
        this.#schedule();
      });
      this.#schedule();
    });
  }

  #takeGroup(): Waiting[] {
    let rows = 0;
    let count = 0;
    while (count < this.#waiting.length && count < GROUP_MAX) {
      rows += this.#waiting[count]?.rows ?? 0;
      if (count > 0 && rows > ROWS_MAX) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #send(group: readonly Waiting[]): Promise<void> {
    const accepted = await this.#intend(group);
    const applied = await this.#applyAll(accepted);
    await this.#record(applied);
  }

  /** Records what will be written outside the store; those that are refused end here. */
  async #intend(group: readonly Waiting[]): Promise<readonly Waiting[]> {
    const outside = group.filter((waiting) => waiting.pending.intent !== undefined);
    if (outside.length === 0) return group;
    try {
      const results = await this.#state.intend(outside.map((waiting) => waiting.pending.intent as Intent));
      const refused = new Set<Waiting>();
      outside.forEach((waiting, index) => {
        const result = results[index];
        if (result === undefined || result.kind === 'committed') return;
        refused.add(waiting);
        settled(waiting).resolve(result);
      });
      return refused.size === 0 ? group : group.filter((waiting) => !refused.has(waiting));
    } catch (error) {
      for (const waiting of outside) settled(waiting).reject(error);
      return group.filter((waiting) => waiting.pending.intent === undefined);
    }
  }

  async #applyAll(group: readonly Waiting[]): Promise<readonly Waiting[]> {
    const targets = new Set(group.flatMap((waiting) => waiting.pending.outside.map((entry) => entry.target)));
    let left = group;
    for (const target of targets) {
      const concerned = left.filter((waiting) => waiting.pending.outside.some((entry) => entry.target === target));
      const failed = await this.#apply(target, concerned);
      if (failed.size > 0) left = left.filter((waiting) => !failed.has(waiting));
    }
    return left;
  }

  /** Answers those whose change the target refuses by itself (C3). */
  async #apply(target: Target, group: readonly Waiting[]): Promise<ReadonlySet<Waiting>> {
    if (group.length === 0) return new Set();
    try {
      await target.apply(group.flatMap((waiting) => changesFor(waiting.pending, target)));
      return new Set();
    } catch (error) {
      const [only] = group;
      if (group.length === 1 && only !== undefined) {
        settled(only).reject(new RunFailure(toRunError(error, TARGET_STEP)));
        return new Set([only]);
      }
      const half = group.length >> 1;
      const first = await this.#apply(target, group.slice(0, half));
      return new Set([...first, ...(await this.#apply(target, group.slice(half)))]);
    }
  }

  async #record(group: readonly Waiting[]): Promise<void> {
    if (group.length === 0) return;
    try {
      const results = await this.#state.commit(group.map((waiting) => waiting.pending.commit));
      this.#committed(group.length);
      group.forEach((waiting, index) => {
        const result = results[index] as CommitResult;
        settled(waiting).resolve(waiting.pending.outside.length > 0 ? { ...result, applied: true } : result);
      });
    } catch (error) {
      const [only] = group;
      if (group.length === 1 && only !== undefined) {
        settled(only).reject(error);
        return;
      }
      const half = group.length >> 1;
      await this.#record(group.slice(0, half));
      await this.#record(group.slice(half));
    }
  }
}

const TOO_LATE = 'the commit did not end in time';

function settled(waiting: Waiting): Waiting {
  if (waiting.onCancel !== undefined) waiting.cancellation?.forget(waiting.onCancel);
  return waiting;
}

function changesFor(pending: PendingCommit, target: Target): RowChange[] {
  return pending.outside.filter((entry) => entry.target === target).map((entry) => entry.change);
}

function rowsIn({ commit, outside }: PendingCommit): number {
  let rows = 1;
  for (const { change } of outside) rows += change.upserts.length + change.touches.length;
  if (commit.kind !== 'replace') return rows;
  for (const change of commit.changes.values()) rows += change.upserts.length + change.touches.length;
  return rows;
}
