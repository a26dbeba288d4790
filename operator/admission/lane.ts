// Lanes: the waiting order of one branch, kept apart for each need.
// A need is a class of runner, and whether the run could start on an idle loan instead of a slot from the pool. Because every need has
// lanes of its own all the way up to the pool, passing over runs whose class has no room costs by the number of classes (A12).
//   N1. A lane stands in its parent's queue for its need exactly while it has runs to offer and no limit stops it.
//   N2. `head` is the arrival number of the first run that it would offer.
import type { BranchEntry, Brood } from './branch.ts';
import { Heap, type Placed } from './heap.ts';
import { Turn } from './loan.ts';
import type { Room } from './rooms.ts';
import type { Contender } from './rules.ts';
import { type RunEntry, RunList } from './run.ts';

/** Number of a need. */
export const needOf = (room: Room, isLoanIdle: boolean): number => 2 * room.number + (isLoanIdle ? 1 : 0);

export abstract class Lane implements Contender, Placed {
  readonly branch: BranchEntry;
  need: number;
  head = 0;
  /** The first run did not pass a limit of this branch; cleared whenever anything below the branch changes (A11). */
  isStopped = false;
  pos = -1;

  constructor(branch: BranchEntry, need: number) {
    this.branch = branch;
    this.need = need;
  }

  abstract get isEmpty(): boolean;
  protected abstract firstNumber(): number;

  get name(): string {
    return this.branch.name;
  }

  get held(): number {
    return this.branch.held;
  }

  get weight(): number {
    return this.branch.weight;
  }

  get since(): number {
    return this.branch.since;
  }

  get servedAt(): number {
    return this.branch.servedAt;
  }

  /** Brings N1 and N2 up to date; the only writer of the parent's queue. */
  settle(): void {
    const offers = !this.isEmpty;
    if (offers) this.head = this.firstNumber();
    const { parent } = this.branch;
    if (!parent) return;
    const { members } = parent.laneOf(this.need);
    if (!offers || this.isStopped) {
      if (this.pos >= 0) members.remove(this);
    } else if (this.pos < 0) members.push(this);
    else members.moved(this);
  }
}

/** Lane of a pool, a source or an update: its members are its children's lanes. */
export class BranchLane extends Lane {
  readonly members: Heap<Lane>;

  constructor(branch: BranchEntry, need: number) {
    super(branch, need);
    this.members = new Heap<Lane>(branch.order);
  }

  get isEmpty(): boolean {
    return this.members.size === 0;
  }

  protected firstNumber(): number {
    return (this.members.first as Lane).head;
  }
}

/** Lane of a brood: its runs in order of arrival. */
export class RunLane extends Lane {
  readonly brood: Brood;
  readonly room: Room;
  readonly turn = new Turn(this);
  readonly #runs = new RunList();
  /** Runs that come back from following another: older than the end of the list, so they need an order of their own (A9). */
  #returned: Heap<RunEntry> | undefined = undefined;

  constructor(brood: Brood, room: Room) {
    super(brood, needOf(room, false));
    this.brood = brood;
    this.room = room;
  }

  get first(): RunEntry | undefined {
    const returned = this.#returned?.first;
    const { first } = this.#runs;
    return returned && (!first || returned.number < first.number) ? returned : first;
  }

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  add(run: RunEntry): void {
    const { last } = this.#runs;
    if (!last || last.number < run.number) this.#runs.push(run);
    else {
      this.#returned ??= new Heap((a, b) => a.number - b.number);
      this.#returned.push(run);
    }
  }

  remove(run: RunEntry): void {
    if (run.pos >= 0) this.#returned?.remove(run);
    else this.#runs.remove(run);
  }

  /** Whether its runs may start on their lender's idle loan (L3). */
  offer(isLoanIdle: boolean): void {
    if (this.pos >= 0) this.brood.parent.laneOf(this.need).members.remove(this);
    this.need = needOf(this.room, isLoanIdle);
  }

  override settle(): void {
    super.settle();
    this.brood.loan?.lineUp(this);
  }

  /** Runs that wait, oldest first; slow, for audits and explanations. */
  *runs(): Generator<RunEntry> {
    yield* [...this.#runs, ...(this.#returned?.items ?? [])].sort((a, b) => a.number - b.number);
  }

  protected firstNumber(): number {
    return (this.first as RunEntry).number;
  }
}
