// Rows of a state that was lost, in targets that stayed: they can be searched until every component has written its own, and what no component of
// any source claims then goes.
//
//   Q1. Nothing goes before the state has recorded a whole cycle, without a failed item, of every source that the Pipeline has.
//   Q2. Nor while work waits: its component may be the one whose rows would go.
import type { SourcePlan, StateStore, Target } from './ports.ts';

/** As many records as a state keeps. */
const RECORDS_MAX = 1_000;

export class LostRows {
  readonly #state: StateStore;
  readonly #sources: ReadonlyMap<string, SourcePlan>;
  /** Targets that still hold such rows. */
  readonly #targets: Set<Pick<Target, 'sweep'>>;
  /** Sources that had a whole cycle here; others may have had one elsewhere, which the state knows. */
  readonly #whole = new Set<string>();

  constructor(state: StateStore, sources: ReadonlyMap<string, SourcePlan>, targets: readonly Pick<Target, 'sweep'>[]) {
    this.#state = state;
    this.#sources = sources;
    this.#targets = new Set(targets);
  }

  /** A cycle of the source ended, whole and without a failed item. Never rejects: what stays goes after a later cycle. */
  async wholeCycleEnded(source: string): Promise<void> {
    if (this.#targets.size === 0) return;
    this.#whole.add(source);
    try {
      if (!(await this.#areAllWhole()) || (await this.#state.countWork({})) > 0) return;
      for (const target of this.#targets) {
        await target.sweep?.();
        this.#targets.delete(target);
      }
    } catch {
      return;
    }
  }

  /** The state is a new one, so every record in it is of a cycle since. */
  async #areAllWhole(): Promise<boolean> {
    const missing = [...this.#sources.keys()].filter((source) => !this.#whole.has(source));
    if (missing.length === 0) return true;
    const records = await this.#state.updates(RECORDS_MAX);
    for (const { kind, source, result } of records)
      if (kind === 'cycle' && result === 'Succeeded' && source !== undefined) this.#whole.add(source);
    return missing.every((source) => this.#whole.has(source));
  }
}
