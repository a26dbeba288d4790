// The card ledger: who holds which part of which card, and who gets what becomes free. Pure and synchronous, like the admission tree.
// Owns:   shares, cards, what branches hold in thousandths.
// Leaves: time, runners' messages, pods; whoever calls says when an end is confirmed or proven.
//   G1. Amounts are whole thousandths. A share below a card is on one card; whole requests take whole cards of one runner.
//   G3. What is freed goes to the branch that the serving rule names, by thousandths held, level by level.
//   G4. Requests are put on the emptiest card of their runner; who places runs balances the runners.
//   G5. A request that does not fit is passed over by younger ones at most `PASSES_MAX` times. Then it is overdue, and cards drain for
//       it: what they hold ends, nothing is added, and it is served. Older overdue requests choose their cards first; a younger one
//       that was overdue before keeps its cards, so there is at most one pass more for each other card of the runner.
//   G6. A share returns only by `release` (its end is confirmed) or `removeRunner` (its end is proven). Nothing else frees a card.
//   L1. Free and held make a whole card on every card after every call; `audit` recounts.
//   L2. Nobody waits who fits and whom the rule names first among those that fit.
import { type Contender, fewestHeldFirst, type ServingRule } from '../admission/index.ts';
import { auditBranches, auditCards } from './audit.ts';
import { ShareBranch } from './branch.ts';
import { CardRunner } from './runner.ts';
import { ShareEntry } from './share.ts';
import {
  type BranchPath,
  type BranchSnapshot,
  CARDS_MAX,
  type CardSnapshot,
  type Refusal,
  type Share,
  type ShareRequest,
  WHOLE_CARD,
} from './types.ts';

/** How often younger requests may be served on a runner while one waits that does not fit (G5). */
export const PASSES_MAX = 8;

export interface LedgerOptions {
  /** Absent: fewest held first. */
  readonly rule?: ServingRule;
  /** Whether some requests are for whole cards: fractions then share cards that are in use, so that whole ones stay free. */
  readonly packs?: boolean;
}

export interface Answer {
  readonly share: Share;
  /** What the request caused: nothing, or the share itself. */
  readonly granted: readonly Share[];
}

export class CardLedger {
  readonly #rule: ServingRule;
  #packs: boolean;
  readonly #root = new ShareBranch('', undefined);
  readonly #runners = new Map<string, CardRunner>();
  #sequence = 0;

  constructor(options: LedgerOptions = {}) {
    this.#rule = options.rule ?? fewestHeldFirst;
    this.#packs = options.packs ?? false;
  }

  // ---- runners ------------------------------------------------------------------------------------------------------

  addRunner(name: string, cards: number): void {
    if (this.#runners.has(name)) throw new Error(`runner ${name} is in the ledger already`);
    this.#runners.set(name, new CardRunner(name, cards));
  }

  /** The runner is proven gone: its cards are no more, and what was held or awaited on them has ended (G6). */
  removeRunner(name: string): readonly Share[] {
    const runner = this.#runners.get(name);
    if (runner === undefined) return [];
    const ended = [...runner.held, ...runner.waiting].sort((a, b) => a.number - b.number);
    for (const share of ended) this.#end(runner, share);
    this.#runners.delete(name);
    return ended;
  }

  /** A runner that is not heard of: nothing new is granted on it, what is held stays. */
  closeRunner(name: string): void {
    this.#runnerOf(name).isClosed = true;
  }

  /** It is heard again. */
  openRunner(name: string): readonly Share[] {
    const runner = this.#runnerOf(name);
    runner.isClosed = false;
    return this.#serve(runner);
  }

  /** Decides the next freed share already. */
  setWeight(path: BranchPath, weight: number): void {
    const branch = this.#branchOf(path);
    branch.weight = weight;
    branch.prune();
  }

  /** See `LedgerOptions.packs`; for requests from now on. */
  setPacking(packs: boolean): void {
    this.#packs = packs;
  }

  // ---- shares -------------------------------------------------------------------------------------------------------

  /** Whether a request could ever be met by a runner of `cards` cards; the reason if not, to be shown at once. */
  static refusal(milli: number, cards: number): Refusal | undefined {
    if (!isShare(milli)) {
      const message = `gpu must be a share below one card, such as 500m, or a whole number of cards; ${milli}m is neither`;
      return { kind: 'not-a-share', message };
    }
    const count = Math.ceil(milli / WHOLE_CARD);
    if (count <= cards) return undefined;
    const message = `gpu asks for ${count} cards of one runner, and the runners of its class have ${cards}: raise gpus of the class`;
    return { kind: 'too-many-cards', message };
  }

  request(request: ShareRequest): Answer {
    const runner = this.#runnerOf(request.runner);
    const refusal = CardLedger.refusal(request.milli, runner.cards.length);
    if (refusal !== undefined) throw new Error(refusal.message);
    const share = new ShareEntry(++this.#sequence, request, this.#branchOf(request.branch));
    runner.waiting.add(share);
    this.#await(share, 1);
    return { share, granted: this.#serve(runner) };
  }

  /** The end of the body is confirmed. */
  release(held: Share): readonly Share[] {
    const share = held as ShareEntry;
    if (share.state !== 'held')
      throw new Error(`share ${share.number} is ${share.state}, so there is nothing to release`);
    const runner = this.#runnerOf(share.runner);
    this.#end(runner, share);
    return this.#serve(runner);
  }

  /** Takes a request back that waits. */
  withdraw(waiting: Share): readonly Share[] {
    const share = waiting as ShareEntry;
    if (share.state !== 'waiting') throw new Error(`share ${share.number} is ${share.state}: release it instead`);
    const runner = this.#runnerOf(share.runner);
    this.#end(runner, share);
    return this.#serve(runner);
  }

  /** A new leader rebuilds the ledger: a share that a runner reports as held is held, whatever the rule says. */
  adopt(request: ShareRequest, cards: readonly number[]): Share {
    const runner = this.#runnerOf(request.runner);
    const share = new ShareEntry(++this.#sequence, request, this.#branchOf(request.branch));
    runner.waiting.add(share);
    this.#await(share, 1);
    this.#grant(runner, share, cards);
    return share;
  }

  // ---- serving ------------------------------------------------------------------------------------------------------

  /** L2: grants on one runner until nobody who waits there fits. */
  #serve(runner: CardRunner): readonly Share[] {
    const granted: ShareEntry[] = [];
    this.#claimCards(runner);
    for (let next = this.#next(runner); next !== undefined; next = this.#next(runner)) {
      const cards = runner.fit(next, this.#packs)!;
      this.#countPasses(runner, next);
      this.#grant(
        runner,
        next,
        cards.map((card) => card.index),
      );
      granted.push(next);
      this.#claimCards(runner);
    }
    return granted;
  }

  /** G3, G5: the request for which cards drain, if it fits; else the first by the rule among those that fit. */
  #next(runner: CardRunner): ShareEntry | undefined {
    if (runner.isClosed || runner.waiting.size === 0) return undefined;
    const fitting = [...runner.waiting].filter((share) => runner.fit(share, this.#packs) !== undefined);
    return fitting.find((share) => runner.cards.some((card) => card.drainsFor === share)) ?? this.#first(fitting);
  }

  /** First by the rule: down the branches, at each level the one that the rule serves first, then the oldest. */
  #first(shares: readonly ShareEntry[]): ShareEntry | undefined {
    let candidates = shares;
    for (let level = 0; candidates.length > 1; level++) {
      const branches = new Map<ShareBranch, number>();
      for (const share of candidates) {
        const branch = ancestorAt(share, level);
        if (branch !== undefined && !branches.has(branch)) branches.set(branch, share.number);
      }
      if (branches.size === 0) break;
      const best = [...branches.keys()].sort((a, b) => this.#compare(a, b, branches))[0];
      candidates = candidates.filter((share) => ancestorAt(share, level) === best);
    }
    return candidates[0];
  }

  #compare(a: ShareBranch, b: ShareBranch, heads: ReadonlyMap<ShareBranch, number>): number {
    const view = (branch: ShareBranch): Contender => ({
      name: branch.name,
      held: branch.held,
      weight: branch.weight,
      since: branch.since,
      head: heads.get(branch)!,
      servedAt: branch.servedAt,
    });
    return this.#rule.compare(view(a), view(b));
  }

  /** G5: older requests that do not fit were passed over; not those for which enough cards drain already, since theirs are safe. */
  #countPasses(runner: CardRunner, served: ShareEntry): void {
    for (const share of runner.waiting) {
      const isPassedOver = share.number < served.number && runner.lacking(share) > 0;
      if (isPassedOver && runner.fit(share, this.#packs) === undefined) share.passedOver++;
    }
  }

  /** G5: overdue requests, the oldest first, claim the cards that will soonest be free for them. */
  #claimCards(runner: CardRunner): void {
    const overdue = [...runner.waiting].filter((share) => share.passedOver >= PASSES_MAX);
    for (const share of overdue.sort((a, b) => a.number - b.number)) runner.drainFor(share);
  }

  #grant(runner: CardRunner, share: ShareEntry, cards: readonly number[]): void {
    runner.waiting.delete(share);
    runner.held.add(share);
    runner.stopDrainingFor(share);
    share.state = 'held';
    share.cards = cards;
    for (const index of cards) runner.cards[index]!.heldMilli += Math.min(share.milli, WHOLE_CARD);
    this.#sequence++;
    this.#await(share, -1);
    this.#recount(share, share.milli);
  }

  #end(runner: CardRunner, share: ShareEntry): void {
    if (share.state === 'held') {
      for (const index of share.cards) runner.cards[index]!.heldMilli -= Math.min(share.milli, WHOLE_CARD);
      this.#recount(share, -share.milli);
    } else this.#await(share, -1);
    runner.held.delete(share);
    runner.waiting.delete(share);
    runner.stopDrainingFor(share);
    share.state = 'ended';
    share.leaf.prune();
  }

  // ---- counts -------------------------------------------------------------------------------------------------------

  #await(share: ShareEntry, change: 1 | -1): void {
    for (const branch of share.leaf.path()) {
      if (branch.waiting === 0) branch.since = this.#sequence;
      branch.waiting += change;
    }
  }

  #recount(share: ShareEntry, milli: number): void {
    for (const branch of share.leaf.path()) {
      branch.held += milli;
      if (milli > 0) branch.servedAt = this.#sequence;
    }
  }

  #branchOf(path: BranchPath): ShareBranch {
    return path.reduce((branch, name) => branch.child(name), this.#root);
  }

  #runnerOf(name: string): CardRunner {
    const runner = this.#runners.get(name);
    if (runner === undefined) throw new Error(`runner ${name} is not in the ledger`);
    return runner;
  }

  // ---- looking --------------------------------------------------------------------------------------------------------

  /** Thousandths that a branch and all below it hold. */
  heldMilli(path: BranchPath = []): number {
    let branch: ShareBranch | undefined = this.#root;
    for (const name of path) branch = branch?.children.get(name);
    return branch?.held ?? 0;
  }

  /** Requests that wait, oldest first. */
  waiting(): readonly Share[] {
    return [...this.#runners.values()].flatMap((runner) => [...runner.waiting]).sort((a, b) => a.number - b.number);
  }

  /** Every card of every runner, in order of runner and index. */
  snapshot(): readonly CardSnapshot[] {
    const runners = [...this.#runners.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return runners.flatMap((runner) =>
      runner.cards.map(({ index, heldMilli, drainsFor }) => ({
        runner: runner.name,
        index,
        heldMilli,
        drainsFor: drainsFor?.number,
      })),
    );
  }

  /** Branches that hold or await something, outer ones before those below them. */
  branches(): readonly BranchSnapshot[] {
    return [...branchesBelow(this.#root, [])];
  }

  /** Recounts everything the slow way; what differs from the books, for people. Empty: all is well (L1, L2). */
  audit(): readonly string[] {
    const runners = [...this.#runners.values()];
    const idle = runners.flatMap((runner) => {
      const next = this.#next(runner);
      return next === undefined ? [] : [`request ${next.number} fits on runner ${runner.name} and waits`];
    });
    return [...runners.flatMap(auditCards), ...auditBranches(this.#root, runners), ...idle];
  }
}

/** G1: below a card any whole number of thousandths, above it whole cards. */
function isShare(milli: number): boolean {
  if (!Number.isSafeInteger(milli) || milli <= 0 || milli > CARDS_MAX * WHOLE_CARD) return false;
  return milli < WHOLE_CARD || milli % WHOLE_CARD === 0;
}

/** The branch of a share that lies `level` below the root; undefined below its leaf. */
function ancestorAt(share: ShareEntry, level: number): ShareBranch | undefined {
  const path = [...share.leaf.path()];
  return path[path.length - 2 - level];
}

function* branchesBelow(branch: ShareBranch, path: BranchPath): Generator<BranchSnapshot> {
  for (const child of branch.children.values()) {
    const { held, waiting, weight } = child;
    const here = [...path, child.name];
    if (held > 0 || waiting > 0) yield { path: here, heldMilli: held, waiting, weight };
    yield* branchesBelow(child, here);
  }
}
