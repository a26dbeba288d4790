// The plain way to the same decisions: at each level all children are looked at. No loans, classes, weights or limits.

export interface LinearBranch {
  readonly parent: LinearBranch | undefined;
  readonly children: LinearBranch[];
  held: number;
  waiting: number;
  since: number;
  /** Arrival numbers of runs that wait; `first` is the oldest one's index. */
  readonly runs: number[];
  first: number;
}

export class LinearTree {
  readonly pool: LinearBranch = this.open(undefined);
  #sequence = 0;

  open(parent: LinearBranch | undefined): LinearBranch {
    const branch = { parent, children: [], held: 0, waiting: 0, since: 0, runs: [], first: 0 };
    parent?.children.push(branch);
    return branch;
  }

  wait(update: LinearBranch): void {
    this.#sequence++;
    update.runs.push(this.#sequence);
    for (let at: LinearBranch | undefined = update; at; at = at.parent)
      if (at.waiting++ === 0) at.since = this.#sequence;
  }

  /** Grants the next run and answers its update. */
  grant(): LinearBranch {
    let branch = this.pool;
    while (branch.children.length > 0) {
      let best: LinearBranch | undefined;
      for (const child of branch.children) {
        if (child.waiting === 0) continue;
        if (!best || child.held < best.held || (child.held === best.held && child.since < best.since)) best = child;
      }
      branch = best as LinearBranch;
    }
    branch.first++;
    for (let at: LinearBranch | undefined = branch; at; at = at.parent) {
      at.waiting--;
      at.held++;
    }
    return branch;
  }

  release(update: LinearBranch): void {
    for (let at: LinearBranch | undefined = update; at; at = at.parent) at.held--;
  }
}
