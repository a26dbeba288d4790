// What a watcher sees go is deleted at once only as far as the delete guard lets anything go without a look at the whole source. A folder that
// vanishes would else empty the index one file at a time, and no cycle would find too much missing.
//   T9. From one whole listing to the next at most `max` such deletes are done; then a cycle looks, once those under way have ended, and its guard
//       counts what went before it too (`deletedBefore`).
//   T10. A cycle that held deletes back forgets nothing: so does the next one, until there is consent or the items are back.
import type { UpdateEnding } from '../dispatch/index.ts';

export class WatchedDeletes {
  readonly #max: () => number;
  readonly #open = new Set<string>();
  #done = 0;
  #isCycleDue = false;

  /** `max`: how many the guard lets go whatever the size of the source. */
  constructor(max: () => number) {
    this.#max = max;
  }

  /** Deletes that were done since the last whole listing. */
  get done(): number {
    return this.#done;
  }

  /** One more is to be done by the update of this name. */
  opened(name: string): void {
    this.#open.add(name);
  }

  /** One more is left to a cycle, if they are too many (T9); answers whether they are. */
  leavesToCycle(): boolean {
    const isTooMany = this.#done + this.#open.size >= this.#max();
    this.#isCycleDue ||= isTooMany;
    return isTooMany;
  }

  /** An update ended that a watcher was the cause of. */
  ended(name: string, { counts }: UpdateEnding): void {
    this.#open.delete(name);
    this.#done += counts.deleted;
  }

  /** Whether it is time for the cycle that deletes were left to; asked once for each. */
  takeDueCycle(): boolean {
    const isDue = this.#isCycleDue && this.#open.size === 0;
    if (isDue) this.#isCycleDue = false;
    return isDue;
  }

  /** A cycle ended that counted so many with its own. */
  cycleEnded({ outcome }: UpdateEnding, deletedBefore: number): void {
    if (outcome.kind === 'done' && outcome.heldDeletes === undefined) this.#done -= Math.min(this.#done, deletedBefore);
  }
}
