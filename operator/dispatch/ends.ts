// Ends of children on their way to the runs that mounted them.
//   D9. A parent that waited goes on when it hears of its last child's end. While more slots are held than there are, which only a
//       take-over makes, it hears of it as executing runs end, so that executing runs never exceed the limit (A4).
import type { RunOutcome } from '../../runner/protocol/index.ts';
import type { AdmissionTree } from '../admission/index.ts';
import type { LiveRun } from './live-run.ts';

interface End {
  readonly parent: LiveRun;
  readonly mount: number;
  readonly outcome: RunOutcome;
}

export class Ends {
  readonly #tree: Pick<AdmissionTree, 'executing' | 'slots'>;
  /** Of the present decision. */
  #ends: End[] = [];
  /** What parents are to hear later, oldest first. The tree counts them as executing already. */
  readonly #untold = new Map<LiveRun, End[]>();

  constructor(tree: Pick<AdmissionTree, 'executing' | 'slots'>) {
    this.#tree = tree;
  }

  add(parent: LiveRun, mount: number, outcome: RunOutcome): void {
    if (parent.seat !== undefined) this.#ends.push({ parent, mount, outcome });
  }

  /** The decision is made, and the tree's counts are as they will be. */
  tell(): void {
    const ends = this.#ends;
    if (ends.length > 0) {
      this.#ends = [];
      for (const end of ends) this.#tellOrKeep(end);
    }
    if (this.#untold.size > 0) this.#tellMore();
  }

  /** The parent's attempt is over: it hears of nothing any more. */
  forget(parent: LiveRun): void {
    this.#untold.delete(parent);
  }

  #tellOrKeep(end: End): void {
    const kept = this.#untold.get(end.parent);
    if (kept !== undefined) kept.push(end);
    else if (end.parent.isCounted && this.#executing > this.#tree.slots) this.#untold.set(end.parent, [end]);
    else tellOne(end);
  }

  #tellMore(): void {
    for (const [parent, ends] of this.#untold) {
      if (parent.isCounted && this.#executing >= this.#tree.slots) return;
      this.#untold.delete(parent);
      for (const end of ends) tellOne(end);
    }
  }

  /** Runs that execute by what their runners know. */
  get #executing(): number {
    let untold = 0;
    for (const parent of this.#untold.keys()) if (parent.isCounted) untold++;
    return this.#tree.executing - untold;
  }
}

function tellOne({ parent, mount, outcome }: End): void {
  parent.seat?.runner.mountEnded(parent.number, mount, outcome);
}
