// The store under test, as the claims of the contract see it.
import type { Commit, StateStore } from '../../../runner/execute/index.ts';

/** A place for states: each `store()` is another process's view of the same state. */
export interface StatePlace {
  store(): StateStore;
  /** Moves the store's clock, where a test owns it. */
  passMs(ms: number): Promise<void>;
}

export class Subject {
  place!: StatePlace;
  state!: StateStore;

  async begin(place: StatePlace): Promise<void> {
    this.place = place;
    this.state = place.store();
    await this.state.open(1);
  }

  /** Another process opens the state. Answers its epoch. */
  async reopen(epoch: number | 'next' = 1): Promise<number> {
    await this.state.close();
    this.state = this.place.store();
    return this.state.open(epoch);
  }

  /** What became of each commit, in words. */
  async commit(...group: readonly Commit[]): Promise<string[]> {
    return (await this.state.commit(group)).map((result) =>
      result.kind === 'fenced' ? `fenced by ${result.by}` : result.kind,
    );
  }
}

export const verdicts = async (
  state: StateStore,
  items: readonly { key: string; version: string }[],
  fingerprint = 'spec-1',
) => (await state.compare('docs', items, fingerprint)).map(({ verdict }) => verdict);
