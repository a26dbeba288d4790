// The slow model of the tree: lists, counted afresh for every question. It does not predict; it judges. Of each run that the tree
// granted it asks whether that run could start at that moment and whether no other one should have come before it (A2, A7, A12), and
// after each call whether anybody still waits who could start (A5). It shares no code with the tree.
import type { AdmissionTree, Branch, RequestOptions, Run } from '../../operator/admission/index.ts';

interface ModelBranch {
  readonly branch: Branch;
  readonly parent: ModelBranch | undefined;
  readonly mountedBy: ModelRun | undefined;
  weight: number;
  isRemoved: boolean;
  /** When its present spell of waiting began; only meaningful while it waits. */
  since: number;
}

interface ModelRun {
  readonly run: Run;
  readonly number: number;
  readonly update: ModelBranch;
  readonly lender: ModelRun | undefined;
  readonly runnerClass: string | undefined;
  readonly component: string | undefined;
  readonly version: string | undefined;
  state: 'waiting' | 'following' | 'granted' | 'ended';
  /** Run whose slot it uses; undefined while granted: the slot is its own. */
  slotOf: ModelRun | undefined;
  isLoanOpen: boolean;
  /** Class whose room it takes, once granted. */
  room: string | undefined;
}

export class Model {
  readonly #branches: ModelBranch[] = [];
  readonly #runs = new Map<Run, ModelRun>();
  readonly #rooms: Map<string, number>;
  #slots: number;
  #clock = 0;

  constructor(tree: AdmissionTree, slots: number, rooms: Readonly<Record<string, number>>) {
    this.#slots = slots;
    this.#rooms = new Map(Object.entries(rooms));
    this.#branches.push({
      branch: tree.pool,
      parent: undefined,
      mountedBy: undefined,
      weight: 1,
      isRemoved: false,
      since: 0,
    });
  }

  // ---- what the driver chooses from ---------------------------------------------------------------------------------

  get runs(): Run[] {
    return [...this.#runs.values()].filter(({ state }) => state !== 'ended').map(({ run }) => run);
  }

  inState(...states: ModelRun['state'][]): Run[] {
    return [...this.#runs.values()].filter(({ state }) => states.includes(state)).map(({ run }) => run);
  }

  branchesOf(kind: Branch['kind']): Branch[] {
    return this.#branches
      .filter(({ branch, isRemoved }) => branch.kind === kind && !isRemoved)
      .map(({ branch }) => branch);
  }

  /** Runs that may lend to a new child of their own update. */
  lendersIn(update: Branch): Run[] {
    return this.inState('granted').filter((run) => this.#of(run).update.branch === update);
  }

  // ---- calls, as they were made ---------------------------------------------------------------------------------------

  opened(branch: Branch, parent: Branch, weight: number, mountedBy?: Run): void {
    const above = this.#branchOf(parent);
    const mounter = mountedBy && this.#of(mountedBy);
    this.#branches.push({ branch, parent: above, mountedBy: mounter, weight, isRemoved: false, since: 0 });
  }

  requested(run: Run, update: Branch, options: RequestOptions, granted: readonly Run[]): void {
    const made: ModelRun = {
      run,
      number: ++this.#clock,
      update: this.#branchOf(update),
      lender: options.lender && this.#of(options.lender),
      runnerClass: options.runnerClass,
      component: options.component,
      version: options.version,
      state: 'following',
      slotOf: undefined,
      isLoanOpen: true,
      room: undefined,
    };
    this.#runs.set(run, made);
    const leads = this.#twinsOf(made).some(({ state }) => state === 'granted');
    if (!leads) this.#wait(made);
    this.#judge(granted);
  }

  released(run: Run, ending: 'succeeded' | 'failed', granted: readonly Run[], reused: readonly Run[]): void {
    const ended = this.#of(run);
    this.#end(ended);
    const shares = (twin: ModelRun): boolean =>
      ending === 'succeeded' &&
      twin.state === 'following' &&
      twin.version !== undefined &&
      twin.version === ended.version;
    const wanted = this.#twinsOf(ended).filter(shares);
    expectSame(
      'reused runs',
      reused.map((r) => this.#of(r).number),
      wanted.map(({ number }) => number),
    );
    for (const twin of this.#twinsOf(ended)) {
      if (twin.state !== 'following') continue;
      if (shares(twin)) twin.state = 'ended';
      else {
        this.#clock++;
        this.#wait(twin);
      }
    }
    this.#judge(granted);
  }

  withdrew(run: Run, granted: readonly Run[]): void {
    this.#of(run).state = 'ended';
    this.#judge(granted);
  }

  closedLoan(run: Run, granted: readonly Run[]): void {
    this.#of(run).isLoanOpen = false;
    this.#judge(granted);
  }

  resized(slots: number, granted: readonly Run[]): void {
    this.#slots = slots;
    this.#judge(granted);
  }

  roomChanged(runnerClass: string, size: number, granted: readonly Run[]): void {
    this.#rooms.set(runnerClass, size);
    this.#judge(granted);
  }

  weightChanged(source: Branch, weight: number): void {
    this.#branchOf(source).weight = weight;
  }

  removed(branch: Branch, withdrawn: readonly Run[], granted: readonly Run[]): void {
    const top = this.#branchOf(branch);
    for (const below of this.#branches) if (isWithin(below, top)) below.isRemoved = true;
    const wanted = [...this.#runs.values()].filter(
      ({ update, state }) => isWithin(update, top) && (state === 'waiting' || state === 'following'),
    );
    expectSame(
      'withdrawn runs',
      withdrawn.map((r) => this.#of(r).number),
      wanted.map(({ number }) => number),
    );
    for (const run of wanted) run.state = 'ended';
    this.#judge(granted);
  }

  // ---- judging --------------------------------------------------------------------------------------------------------

  #judge(granted: readonly Run[]): void {
    for (const run of granted) this.#judgeGrant(this.#of(run));
    const left = this.#eligible();
    if (left.length > 0)
      throw new Error(
        `A5: run ${left[0]!.number} (#${left[0]!.run.number}) could start and waits; loan #${this.#loanFor(left[0]!)?.run.number}`,
      );
    for (const run of this.#runs.values()) this.#compare(run);
    this.#forgetEnded();
  }

  #judgeGrant(run: ModelRun): void {
    const eligible = this.#eligible();
    if (!eligible.includes(run)) throw new Error(`run ${run.number} was granted and could not start`);
    const path = pathTo(run.update);
    for (const [depth, branch] of path.entries()) {
      if (depth === 0) continue;
      const rivals = new Set(
        eligible
          .map(({ update }) => pathTo(update))
          .filter((p) => p[depth - 1] === path[depth - 1])
          .map((p) => p[depth]),
      );
      for (const rival of rivals) {
        if (rival !== undefined && rival !== branch && this.#comesBefore(rival, branch)) {
          throw new Error(`A2: ${rival.branch.name} comes before ${branch.branch.name}, which was served`);
        }
      }
    }
    const older = eligible.find(({ update, number }) => update === run.update && number < run.number);
    if (older !== undefined) throw new Error(`A2: run ${older.number} of the same update is older than ${run.number}`);
    this.#grant(run);
  }

  #comesBefore(a: ModelBranch, b: ModelBranch): boolean {
    const [shareA, shareB] = [this.#held(a) * b.weight, this.#held(b) * a.weight];
    return shareA < shareB || (shareA === shareB && a.since < b.since);
  }

  #grant(run: ModelRun): void {
    const loan = this.#loanFor(run);
    run.state = 'granted';
    run.slotOf = loan !== undefined && this.#isIdle(loan) ? loan : undefined;
    run.room = run.run.runnerClass;
    for (const twin of this.#twinsOf(run)) if (twin.state === 'waiting') twin.state = 'following';
  }

  #end(run: ModelRun): void {
    run.state = 'ended';
    const borrower = this.#borrowerOf(run);
    if (borrower !== undefined) borrower.slotOf = run.slotOf; // A7: the slot stays with the borrower
  }

  #wait(run: ModelRun): void {
    for (let branch: ModelBranch | undefined = run.update; branch !== undefined; branch = branch.parent) {
      if (this.#waiting(branch) === 0) branch.since = this.#clock;
    }
    run.state = 'waiting';
  }

  /** Everybody who could start now. */
  #eligible(): ModelRun[] {
    const isSlotFree = this.#held(this.#branches[0]!) < this.#slots;
    const mayLend = this.#executing() < this.#slots;
    return [...this.#runs.values()].filter((run) => {
      if (run.state !== 'waiting' || !this.#hasRoom(run)) return false;
      return isSlotFree || (mayLend && this.#mayBorrow(run));
    });
  }

  #hasRoom({ runnerClass }: ModelRun): boolean {
    if (this.#rooms.size === 0) return true;
    const names = runnerClass === undefined ? [...this.#rooms.keys()] : [runnerClass];
    return names.some((name) => this.#usedRoom(name) < (this.#rooms.get(name) ?? 0));
  }

  #usedRoom(name: string): number {
    return [...this.#runs.values()].filter((run) => this.#isExecuting(run) && run.room === name).length;
  }

  /** A7: the loan is idle, and nobody older of the same class waits for it. */
  #mayBorrow(run: ModelRun): boolean {
    const loan = this.#loanFor(run);
    if (loan === undefined || !this.#isIdle(loan)) return false;
    return ![...this.#runs.values()].some(
      (other) =>
        other.state === 'waiting' &&
        other.number < run.number &&
        other.runnerClass === run.runnerClass &&
        this.#loanFor(other) === loan,
    );
  }

  #loanFor(run: ModelRun): ModelRun | undefined {
    const lender = run.lender ?? (run.update.parent?.mountedBy as ModelRun | undefined);
    return lender?.state === 'granted' && lender.isLoanOpen ? lender : undefined;
  }

  #isIdle(lender: ModelRun): boolean {
    return this.#borrowerOf(lender) === undefined;
  }

  #borrowerOf(lender: ModelRun): ModelRun | undefined {
    return [...this.#runs.values()].find(({ state, slotOf }) => state === 'granted' && slotOf === lender);
  }

  #isExecuting(run: ModelRun): boolean {
    if (run.state !== 'granted' || this.#borrowerOf(run) !== undefined) return false;
    return ![...this.#runs.values()].some((other) => other.state !== 'ended' && this.#loanFor(other) === run);
  }

  #executing(): number {
    return [...this.#runs.values()].filter((run) => this.#isExecuting(run)).length;
  }

  /** A loan counts once, where its slot was taken. */
  #held(branch: ModelBranch): number {
    return [...this.#runs.values()].filter(
      ({ state, slotOf, update }) => state === 'granted' && slotOf === undefined && isWithin(update, branch),
    ).length;
  }

  #waiting(branch: ModelBranch): number {
    return [...this.#runs.values()].filter(({ state, update }) => state === 'waiting' && isWithin(update, branch))
      .length;
  }

  /** What callers see of a run is what the model thinks of it. */
  #compare(run: ModelRun): void {
    if (run.run.state !== run.state) throw new Error(`run ${run.number} is ${run.run.state}, should be ${run.state}`);
    if (run.state !== 'granted') return;
    const loanOf = run.run.loanOf && this.#runs.get(run.run.loanOf);
    if (loanOf !== run.slotOf)
      throw new Error(`A7: run ${run.number} uses the slot of ${loanOf?.number}, should be ${run.slotOf?.number}`);
    if (run.run.isExecuting !== this.#isExecuting(run))
      throw new Error(`run ${run.number}: isExecuting is ${run.run.isExecuting}`);
  }

  /** Ended runs are kept only while somebody refers to them, so that long walks stay fast. */
  #forgetEnded(): void {
    const needed = new Set<ModelRun | undefined>();
    for (const run of this.#runs.values()) if (run.state !== 'ended') needed.add(run.lender).add(run.slotOf);
    for (const [key, run] of this.#runs) if (run.state === 'ended' && !needed.has(run)) this.#runs.delete(key);
  }

  #twinsOf(run: ModelRun): ModelRun[] {
    if (run.component === undefined) return [];
    return [...this.#runs.values()].filter(
      (other) => other !== run && other.component === run.component && other.state !== 'ended',
    );
  }

  #of(run: Run): ModelRun {
    return this.#runs.get(run)!;
  }

  #branchOf(branch: Branch): ModelBranch {
    return this.#branches.find((known) => known.branch === branch)!;
  }
}

function pathTo(branch: ModelBranch): ModelBranch[] {
  const path = [branch];
  while (path[0]!.parent !== undefined) path.unshift(path[0]!.parent);
  return path;
}

function isWithin(branch: ModelBranch, ancestor: ModelBranch): boolean {
  for (let at: ModelBranch | undefined = branch; at !== undefined; at = at.parent) if (at === ancestor) return true;
  return false;
}

function expectSame(what: string, got: readonly number[], wanted: readonly number[]): void {
  if (got.join() !== wanted.join()) throw new Error(`${what}: [${got.join()}], should be [${wanted.join()}]`);
}
