// Slots that nobody may have before everybody has reported (B2, B5 of adoption.ts): runs without work that hold them in the tree.
import type { AdmissionTree, Branch, Run } from '../admission/index.ts';

/** A class without room, so that placeholders take none of a real one. */
export const UNREPORTED = 'unreported';

export interface PlaceholdersOptions {
  readonly tree: AdmissionTree;
  /** Runs that got a slot because one went. */
  readonly start: (granted: readonly Run[]) => void;
}

export class Placeholders {
  readonly #tree: AdmissionTree;
  readonly #start: (granted: readonly Run[]) => void;
  readonly #held: Run[] = [];
  #branch: Branch | undefined;

  constructor({ tree, start }: PlaceholdersOptions) {
    this.#tree = tree;
    this.#start = start;
  }

  /** So many slots are held from now on. */
  keep(slots: number): void {
    while (this.#held.length < slots) this.#held.push(this.#hold());
    while (this.#held.length > slots) this.#letGo(this.#held.pop()!);
  }

  /** Holds one slot more while `act` gives one back and takes it again, so that nobody else gets it. */
  holdingOneMore<T>(act: () => T): T {
    const kept = this.#hold();
    const result = act();
    this.#letGo(kept);
    return result;
  }

  /** None is held any more, and none will be. */
  end(): void {
    this.keep(0);
    if (this.#branch !== undefined) this.#start(this.#tree.remove(this.#branch).granted);
    this.#branch = undefined;
  }

  #hold(): Run {
    this.#branch ??= this.#tree.openUpdate(this.#tree.pool, 'runners that have not reported');
    return this.#tree.adopt(this.#branch, { runnerClass: UNREPORTED });
  }

  #letGo(placeholder: Run): void {
    this.#start(this.#tree.release(placeholder, 'failed').granted);
  }
}
