// Branches as the ledger compares them: the same shape as the admission tree's, counted in thousandths of a card (G3).
import type { Contender } from '../admission/index.ts';

export class ShareBranch implements Contender {
  readonly name: string;
  readonly parent: ShareBranch | undefined;
  readonly children = new Map<string, ShareBranch>();
  held = 0;
  weight = 1;
  waiting = 0;
  since = 0;
  head = 0;
  servedAt = 0;

  constructor(name: string, parent: ShareBranch | undefined) {
    this.name = name;
    this.parent = parent;
  }

  child(name: string): ShareBranch {
    let child = this.children.get(name);
    if (child === undefined) {
      child = new ShareBranch(name, this);
      this.children.set(name, child);
    }
    return child;
  }

  /** The branch itself and all above it, up to the root. */
  *path(): Generator<ShareBranch> {
    for (let branch: ShareBranch | undefined = this; branch !== undefined; branch = branch.parent) yield branch;
  }

  /** Lets go of branches that hold and await nothing; weights that somebody set stay. */
  prune(): void {
    const { parent } = this;
    if (parent === undefined || this.held > 0 || this.waiting > 0 || this.children.size > 0 || this.weight !== 1)
      return;
    parent.children.delete(this.name);
    parent.prune();
  }
}
