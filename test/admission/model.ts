// The slow model of the tree: lists, counted afresh for every question. After each call it works out for itself who starts, one run after
// the other, until nobody is left who could (A2, A5, A7, A11, A12), and the tree must have granted exactly these, in this order. It shares
// no code with the tree.
import type { AdmissionTree, Branch, Cost, Limits, RequestOptions, Run } from '../../operator/admission/index.ts';

interface ModelBranch {
  readonly branch: Branch;
  readonly parent: ModelBranch | undefined;
  readonly mountedBy: ModelRun | undefined;
  weight: number;
  isRemoved: boolean;
  /** When its present spell of waiting began; only meaningful while it waits. */
  since: number;
  limits: Limits;
  /** The run that must start before others here (M3). */
  closedFor: ModelRun | undefined;
}

interface ModelRun {
  readonly rows: number;
  readonly bytes: number;
  readonly milliCards: number;
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
  /** It has mounted others. */
  isLender: boolean;
  /** Class whose room it takes, once granted. */
  room: string | undefined;
}

export interface ModelOptions {
  readonly slots: number;
  readonly rooms: Readonly<Record<string, number>>;
  readonly cost: Cost;
  readonly milliCards: number;
}

export class Model {
  readonly #branches: ModelBranch[] = [];
  readonly #runs = new Map<Run, ModelRun>();
  readonly #rooms: Map<string, number>;
  readonly #cost: Cost;
  readonly #milliCards: number;
  #slots: number;
  #clock = 0;

  constructor(tree: AdmissionTree, options: ModelOptions) {
    const { slots, rooms, cost, milliCards } = options;
    this.#slots = slots;
    this.#cost = cost;
    this.#milliCards = milliCards;
    this.#rooms = new Map(Object.entries(rooms));
    this.#branches.push({
      branch: tree.pool,
      parent: undefined,
      mountedBy: undefined,
      weight: 1,
      isRemoved: false,
      since: 0,
      limits: {},
      closedFor: undefined,
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
    const mounter = mountedBy && this.#lends(mountedBy);
    this.#branches.push({
      branch,
      parent: above,
      mountedBy: mounter,
      weight,
      isRemoved: false,
      since: 0,
      limits: {},
      closedFor: undefined,
    });
  }

  requested(run: Run, update: Branch, options: RequestOptions, granted: readonly Run[]): void {
    const made = this.#made(run, update, options);
    const leads = this.#twinsOf(made).some(({ state }) => state === 'granted');
    if (!leads) this.#wait(made);
    this.#judge(granted);
  }

  /** It starts whatever is free, and nobody else does before the next call. */
  adopted(run: Run, update: Branch, options: RequestOptions): void {
    const made = this.#made(run, update, options);
    this.#wait(made);
    this.#grant(made);
  }

  #made(run: Run, update: Branch, options: RequestOptions): ModelRun {
    const made: ModelRun = {
      run,
      number: ++this.#clock,
      update: this.#branchOf(update),
      lender: options.lender && this.#lends(options.lender),
      runnerClass: options.runnerClass,
      component: options.component,
      version: options.version,
      rows: options.rows ?? 0,
      bytes: options.bytes ?? 0,
      milliCards: options.milliCards ?? 0,
      state: 'following',
      slotOf: undefined,
      isLender: false,
      room: undefined,
    };
    this.#runs.set(run, made);
    return made;
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
    this.#leave(this.#of(run), 'ended');
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

  moved(run: Run, runnerClass: string, granted: readonly Run[]): void {
    this.#of(run).room = runnerClass;
    this.#judge(granted);
  }

  limited(branch: Branch, limits: Limits, granted: readonly Run[]): void {
    this.#branchOf(branch).limits = limits;
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
    for (const run of wanted) this.#leave(run, 'ended');
    this.#judge(granted);
  }

  // ---- judging --------------------------------------------------------------------------------------------------------

  #judge(granted: readonly Run[]): void {
    const wanted = this.#serve();
    expectSame(
      'granted runs',
      granted.map((r) => this.#of(r).number),
      wanted.map(({ number }) => number),
    );
    for (const run of this.#runs.values()) this.#compare(run);
    this.#forgetEnded();
  }

  /** Starts whoever comes first, or in his place the run that a branch above him is closed for, until nobody is left who could start. */
  #serve(): ModelRun[] {
    const granted: ModelRun[] = [];
    for (let next = this.#first(); next !== undefined; next = this.#first()) {
      const run = pathTo(next.update).find(({ closedFor }) => closedFor !== undefined)?.closedFor ?? next;
      const stopper = this.#stopperOf(run);
      if (stopper !== undefined) this.#close(stopper, run);
      else {
        this.#grant(run, next);
        granted.push(run);
      }
    }
    return granted;
  }

  /** A2: level by level, among those who could start and have not been found too heavy already. */
  #first(): ModelRun | undefined {
    if (this.#executing() >= this.#slots) return undefined;
    for (const { closedFor } of this.#branches) if (closedFor && !this.#hasRoom(closedFor)) this.#openFor(closedFor);
    let eligible = this.#eligible();
    for (let depth = 1; eligible.some(({ update }) => pathTo(update).length > depth); depth++) {
      const rivals = new Set(eligible.map(({ update }) => pathTo(update)[depth]!));
      const first = [...rivals].reduce((a, b) => (this.#comesBefore(b, a) ? b : a));
      eligible = eligible.filter(({ update }) => pathTo(update)[depth] === first);
    }
    return eligible.reduce<ModelRun | undefined>((a, b) => (a !== undefined && a.number < b.number ? a : b), undefined);
  }

  // ---- limits: M1 to M4 -------------------------------------------------------------------------------------------------

  /** M1: the innermost. */
  #stopperOf(run: ModelRun): ModelBranch | undefined {
    return pathTo(run.update).findLast((branch) => {
      const { rows = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY } = branch.limits;
      const below = this.#inFlight(branch);
      const isLoaded = below.some((other) => !other.isLender && other.rows + other.bytes + other.milliCards > 0);
      const fitsRows = run.rows === 0 || sum(below, 'rows') + run.rows <= rows;
      const fitsBytes = run.bytes === 0 || sum(below, 'bytes') + run.bytes <= bytes;
      return isLoaded && !(fitsRows && fitsBytes);
    });
  }

  /** M2, M4. */
  #close(closed: ModelBranch, run: ModelRun): void {
    this.#openFor(run);
    for (const branch of this.#branches) if (isWithin(branch, closed)) branch.closedFor = undefined;
    closed.closedFor = run;
  }

  #openFor(run: ModelRun): void {
    for (const branch of this.#branches) if (branch.closedFor === run) branch.closedFor = undefined;
  }

  /** M3: a branch above it is closed for a run that is known to be too heavy. */
  #isShutOut({ update }: ModelRun): boolean {
    return pathTo(update).some((branch) => branch.closedFor && this.#stopperOf(branch.closedFor) === branch);
  }

  /** It waits no more for a slot. */
  #leave(run: ModelRun, state: ModelRun['state']): void {
    run.state = state;
    this.#openFor(run);
  }

  #comesBefore(a: ModelBranch, b: ModelBranch): boolean {
    const [shareA, shareB] = [this.#held(a) * b.weight, this.#held(b) * a.weight];
    return shareA < shareB || (shareA === shareB && a.since < b.since);
  }

  /** On its lender's loan, else on a slot of the pool, else on the loan of him whose place it takes (A7, M3). */
  #grant(run: ModelRun, next = run): void {
    const isSlotFree = this.#slotsHeld(this.#branches[0]!) < this.#slots;
    const loan = this.#idleLoanFor(run) ?? (isSlotFree ? undefined : this.#idleLoanFor(next));
    this.#leave(run, 'granted');
    run.slotOf = loan;
    run.room = run.run.runnerClass;
    for (const twin of this.#twinsOf(run)) if (twin.state === 'waiting') this.#leave(twin, 'following');
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
    const could = [...this.#runs.values()].filter((run) => run.state === 'waiting' && this.#canStart(run));
    const isAnyClosed = this.#branches.some(({ closedFor }) => closedFor !== undefined);
    return isAnyClosed ? could.filter((run) => !this.#isShutOut(run)) : could;
  }

  /** Apart from limits. */
  #canStart(run: ModelRun): boolean {
    if (!this.#hasRoom(run)) return false;
    if (this.#slotsHeld(this.#branches[0]!) < this.#slots) return true;
    return this.#idleLoanFor(run) !== undefined && this.#executing() < this.#slots;
  }

  #hasRoom({ runnerClass }: ModelRun): boolean {
    if (this.#rooms.size === 0) return true;
    const names = runnerClass === undefined ? [...this.#rooms.keys()] : [runnerClass];
    return names.some((name) => this.#usedRoom(name) < (this.#rooms.get(name) ?? 0));
  }

  #usedRoom(name: string): number {
    return [...this.#runs.values()].filter((run) => this.#isExecuting(run) && run.room === name).length;
  }

  /** A7, A8. */
  #idleLoanFor(run: ModelRun): ModelRun | undefined {
    const lender = this.#loanFor(run);
    return lender !== undefined && this.#borrowerOf(lender) === undefined ? lender : undefined;
  }

  #loanFor(run: ModelRun): ModelRun | undefined {
    const lender = run.lender ?? run.update.parent?.mountedBy;
    return lender?.state === 'granted' ? lender : undefined;
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
  #slotsHeld(branch: ModelBranch): number {
    return this.#inFlight(branch).filter(({ slotOf }) => slotOf === undefined).length;
  }

  #inFlight(branch: ModelBranch): ModelRun[] {
    return [...this.#runs.values()].filter(({ state, update }) => state === 'granted' && isWithin(update, branch));
  }

  /** What branches are compared by. */
  #held(branch: ModelBranch): number {
    if (this.#cost === 'slots') return this.#slotsHeld(branch);
    const bytes = sum(this.#inFlight(branch), 'bytes');
    if (this.#cost === 'bytes') return bytes;
    const whole = this.#branches[0]!.limits.bytes;
    const parts = [
      this.#slotsHeld(branch) / this.#slots,
      whole === undefined ? 0 : bytes / whole,
      sum(this.#inFlight(branch), 'milliCards') / this.#milliCards,
    ];
    return Math.max(...parts.map((part) => Math.floor(part * 1e9)));
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

  #lends(run: Run): ModelRun {
    const lender = this.#of(run);
    lender.isLender = true;
    return lender;
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

function sum(runs: readonly ModelRun[], what: 'rows' | 'bytes' | 'milliCards'): number {
  return runs.reduce((total, run) => total + run[what], 0);
}
