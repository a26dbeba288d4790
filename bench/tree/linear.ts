// The plain way to the same decisions: at each level all children are looked at. No loans, classes, weights or limits.

export interface LinearBranch {
  readonly parent: LinearBranch | undefined;
  readonly children: LinearBranch[];
  held: number;
  waiting: number;
  since: number;
  /** In order of arrival; `first` is the index of the oldest that waits. */
  readonly runs: LinearRun[];
  first: number;
}

/** What is granted and given back. */
export interface LinearRun {
  readonly number: number;
  readonly update: LinearBranch;
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
    update.runs.push({ number: this.#sequence, update });
    for (let at: LinearBranch | undefined = update; at; at = at.parent)
      if (at.waiting++ === 0) at.since = this.#sequence;
  }

  grant(): LinearRun {
    let branch = this.pool;
    while (branch.children.length > 0) {
      let best: LinearBranch | undefined;
      for (const child of branch.children) {
        if (child.waiting === 0) continue;
        if (!best || child.held < best.held || (child.held === best.held && child.since < best.since)) best = child;
      }
      branch = best as LinearBranch;
    }
    const run = branch.runs[branch.first++] as LinearRun;
    for (let at: LinearBranch | undefined = branch; at; at = at.parent) {
      at.waiting--;
      at.held++;
    }
    return run;
  }

  release({ update }: LinearRun): void {
    for (let at: LinearBranch | undefined = update; at; at = at.parent) at.held--;
  }
}
