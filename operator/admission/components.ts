// Runs that would execute the same component (A9). A run alone costs one map entry; twins hang from it in order of arrival.
import type { RunEntry } from './run.ts';

export class Components {
  readonly #first = new Map<string, RunEntry>();

  join(run: RunEntry): void {
    if (run.component === undefined) return;
    let last = this.#first.get(run.component);
    if (!last) {
      this.#first.set(run.component, run);
      return;
    }
    while (last.twin) last = last.twin;
    last.twin = run;
  }

  leave(run: RunEntry): void {
    if (run.component === undefined) return;
    const first = this.#first.get(run.component);
    if (first !== run) {
      for (const other of this.#all(run)) if (other.twin === run) other.twin = run.twin;
    } else if (run.twin) this.#first.set(run.component, run.twin);
    else this.#first.delete(run.component);
    run.twin = undefined;
  }

  /** The run of the component that is in flight. */
  leaderOf(run: RunEntry): RunEntry | undefined {
    for (const other of this.#all(run)) if (other.state === 'granted') return other;
    return undefined;
  }

  othersThan(run: RunEntry): readonly RunEntry[] {
    const others: RunEntry[] = [];
    for (const other of this.#all(run)) if (other !== run) others.push(other);
    return others;
  }

  /** Runs of the component, in order of arrival. */
  runsOf(component: string): readonly RunEntry[] {
    const runs: RunEntry[] = [];
    for (let run = this.#first.get(component); run; run = run.twin) runs.push(run);
    return runs;
  }

  *#all(run: RunEntry): Generator<RunEntry> {
    if (run.component === undefined) return;
    for (let other = this.#first.get(run.component); other; other = other.twin) yield other;
  }
}
