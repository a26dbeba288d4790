// Every public call at random, judged after each by the slow model (model.ts). The appetite of a round makes its pool starved or
// drowned. FAIRLEAD_TREE_STEPS lengthens the walk; FAIRLEAD_TREE_SEED replays the round that a failure names.
import { expect, test } from 'vitest';
import {
  AdmissionTree,
  type Branch,
  type Cost,
  type Limits,
  type RequestOptions,
} from '../../operator/admission/index.ts';
import { auditOf } from '../../operator/inspection/index.ts';
import { Model } from './model.ts';

const STEPS = Number(process.env.FAIRLEAD_TREE_STEPS ?? 200_000);
const STEPS_PER_ROUND = 400;
const CLASSES = ['cpu', 'gpu'];
const COSTS: readonly Cost[] = ['slots', 'slots', 'bytes', 'dominant-share'];

/** Marsaglia's xorshift with 32 bits: small, repeatable, good enough. */
function xorshift(seed: number): (below: number) => number {
  let state = Math.imul(seed, 2654435761) | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

class Walk {
  readonly #draw: (below: number) => number;
  readonly #tree: AdmissionTree;
  readonly #model: Model;
  readonly #hasClasses: boolean;
  readonly #hasLoads: boolean;
  readonly #runsMax: number;
  readonly #endings: number;
  #names = 0;

  constructor(seed: number) {
    this.#draw = xorshift(seed);
    const slots = 1 + this.#draw(this.#draw(2) === 0 ? 3 : 12);
    this.#hasClasses = this.#draw(3) === 0;
    const rooms: Record<string, number> = this.#hasClasses ? { cpu: 1 + this.#draw(6), gpu: this.#draw(4) } : {};
    this.#runsMax = 8 + this.#draw(40);
    this.#endings = 1 + this.#draw(6);
    this.#hasLoads = this.#draw(2) === 0;
    const cost = this.#hasLoads ? this.#pick(COSTS)! : 'slots';
    const milliCards = 4_000;
    this.#tree = new AdmissionTree({ slots, cost, milliCards, ...(this.#hasClasses && { rooms }) });
    this.#model = new Model(this.#tree, { slots, rooms, cost, milliCards });
  }

  step(): void {
    const act = this.#draw(100);
    if (act < 3) this.#openSource();
    else if (act < 10) this.#openUpdate();
    else if (act < 50) this.#request();
    else if (act < 50 + 6 * this.#endings) this.#release();
    else if (act < 88) this.#withdraw();
    else if (act < 89) this.#adopt();
    else if (act < 90) this.#moveTo();
    else if (act < 93) this.#setLimits();
    else if (act < 94) this.#setSlots();
    else if (act < 96) this.#setRoom();
    else if (act < 98) this.#setWeight();
    else this.#remove();
    if (act % 33 === 0) expect(auditOf(this.#tree)).toEqual([]);
  }

  /** Gives every class room and ends everything: whoever still waits then has lost a wake-up. */
  finish(): void {
    if (this.#hasClasses) for (const name of CLASSES) this.#resize(name, 1);
    while (this.#model.inState('granted').length > 0) this.#release(true);
    expect(auditOf(this.#tree)).toEqual([]);
    expect(this.#model.inState('waiting', 'following')).toEqual([]);
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[this.#draw(Math.max(1, from.length))];
  }

  #parents(): Branch[] {
    return [...this.#model.branchesOf('pool'), ...this.#model.branchesOf('source')];
  }

  #openSource(): void {
    if (this.#model.branchesOf('source').length > 5) return;
    const parent = this.#pick(this.#parents())!;
    const weight = 1 + this.#draw(3);
    const mounter = this.#draw(2) === 0 ? this.#pick(this.#model.inState('granted')) : undefined;
    const options = { weight, ...(mounter && { mountedBy: mounter }) };
    const source = this.#tree.openSource(parent, `s${this.#names++}`, options);
    this.#model.opened(source, parent, weight, mounter);
  }

  #openUpdate(): void {
    if (this.#model.branchesOf('update').length > 8) return;
    const parent = this.#pick(this.#parents())!;
    this.#model.opened(this.#tree.openUpdate(parent, `u${this.#names++}`), parent, 1);
  }

  #request(): void {
    const update = this.#pick(this.#model.branchesOf('update'));
    if (update === undefined || this.#model.runs.length >= this.#runsMax) return;
    const lender = this.#draw(2) === 0 ? this.#pick(this.#model.lendersIn(update)) : undefined;
    const isTwin = this.#draw(6) === 0;
    const options: RequestOptions = {
      ...(lender && { lender }),
      ...this.#class(),
      ...this.#load(),
      ...(isTwin && { component: `c${this.#draw(3)}` }),
      ...(isTwin && this.#draw(4) > 0 && { version: `v${this.#draw(2)}` }),
    };
    const { run, granted } = this.#tree.request(update, options);
    this.#model.requested(run, update, options, granted);
  }

  #release(always = false): void {
    const run = this.#pick(this.#model.inState('granted'));
    if (run === undefined) return;
    const ending = !always && this.#draw(4) === 0 ? 'failed' : 'succeeded';
    const { granted, reused } = this.#tree.release(run, ending);
    this.#model.released(run, ending, granted, reused);
  }

  #withdraw(): void {
    const run = this.#pick(this.#model.inState('waiting', 'following'));
    if (run !== undefined) this.#model.withdrew(run, this.#tree.withdraw(run));
  }

  /** Down too: then more may be held than the limit, until enough runs have ended (A6). */
  #setSlots(): void {
    const slots = Math.min(16, Math.max(1, this.#tree.slots + this.#draw(4) - 2));
    this.#model.resized(slots, this.#tree.setSlots(slots));
  }

  /** Runs that were in flight before the tree was there. */
  #adopt(): void {
    const update = this.#pick(this.#model.branchesOf('update'));
    if (update === undefined || this.#model.runs.length >= this.#runsMax) return;
    const lender = this.#draw(2) === 0 ? this.#pick(this.#model.lendersIn(update)) : undefined;
    const options = { ...(lender && { lender }), ...this.#class(), ...this.#load() };
    this.#model.adopted(this.#tree.adopt(update, options), update, options);
  }

  #moveTo(): void {
    const run = this.#pick(this.#model.inState('granted'));
    if (run === undefined || !this.#hasClasses) return;
    const runnerClass = this.#pick(CLASSES)!;
    this.#model.moved(run, runnerClass, this.#tree.moveTo(run, runnerClass));
  }

  #limits(): Limits {
    return {
      ...(this.#draw(2) === 0 && { rows: 1 + this.#draw(8) }),
      ...(this.#draw(2) === 0 && { bytes: 1 + this.#draw(30) }),
    };
  }

  #setLimits(): void {
    const branch = this.#pick(this.#parents())!;
    const limits = this.#limits();
    if (this.#hasLoads) this.#model.limited(branch, limits, this.#tree.setLimits(branch, limits));
  }

  #class(): RequestOptions {
    return this.#hasClasses && this.#draw(3) > 0 ? { runnerClass: this.#pick(CLASSES)! } : {};
  }

  /** Now and then heavier than any limit. */
  #load(): RequestOptions {
    if (!this.#hasLoads || this.#draw(3) === 0) return {};
    return { rows: this.#draw(this.#draw(8) === 0 ? 12 : 4), bytes: this.#draw(20), milliCards: 500 * this.#draw(3) };
  }

  #setRoom(): void {
    if (this.#hasClasses) this.#resize(this.#pick(CLASSES)!, this.#draw(6));
  }

  #resize(runnerClass: string, size: number): void {
    this.#model.roomChanged(runnerClass, size, this.#tree.setRoom(runnerClass, size));
  }

  #setWeight(): void {
    const source = this.#pick(this.#model.branchesOf('source'));
    if (source === undefined) return;
    const weight = 1 + this.#draw(5);
    this.#tree.setWeight(source, weight);
    this.#model.weightChanged(source, weight);
  }

  #remove(): void {
    const branch = this.#pick([...this.#model.branchesOf('update'), ...this.#model.branchesOf('source')]);
    if (branch === undefined) return;
    const { withdrawn, granted } = this.#tree.remove(branch);
    this.#model.removed(branch, withdrawn, granted);
  }
}

function round(seed: number): void {
  const walk = new Walk(seed);
  for (let step = 0; step < STEPS_PER_ROUND; step++) walk.step();
  walk.finish();
}

test('F68: whatever is called at random, every grant is the right one and nobody waits who could start', {
  timeout: 3_600_000,
}, () => {
  const only = process.env.FAIRLEAD_TREE_SEED;
  const seeds =
    only === undefined ? Array.from({ length: Math.ceil(STEPS / STEPS_PER_ROUND) }, (_, i) => i + 1) : [Number(only)];
  for (const seed of seeds) {
    try {
      round(seed);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`${why} (replay with FAIRLEAD_TREE_SEED=${seed})`, { cause: error });
    }
  }
});
