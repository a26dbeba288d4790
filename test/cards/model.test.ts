// Random calls, audited after each: L1, L2, G5 and G6 of operator/cards/ledger.ts hold whatever happens.
// FAIRLEAD_CARD_STEPS lengthens the walk, FAIRLEAD_CARD_SEED replays one.
import { test } from 'vitest';
import { CardLedger, PASSES_MAX, type Share, WHOLE_CARD } from '../../operator/cards/index.ts';

const STEPS = Number(process.env.FAIRLEAD_CARD_STEPS ?? 20_000);

/** Small and good enough: Marsaglia's xorshift with 32 bits. */
function xorshift(seed: number): (below: number) => number {
  let state = seed | 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const MILLI = [100, 250, 333, 400, 500, 700, 999, 1000, 1000, 2000];

/** The dumbest count: what every card holds, summed over all shares that are held. */
function recount(shares: readonly Share[]): Map<string, number> {
  const held = new Map<string, number>();
  for (const share of shares) {
    if (share.state !== 'held') continue;
    for (const card of share.cards) {
      const key = `${share.runner}/${card}`;
      held.set(key, (held.get(key) ?? 0) + Math.min(share.milli, WHOLE_CARD));
    }
  }
  return held;
}

/** What the model and the ledger disagree about; runners have four cards at most, so three others (G5). */
function differences(ledger: CardLedger, shares: readonly Share[]): string[] {
  const held = recount(shares);
  const cards = ledger.snapshot().filter((card) => card.heldMilli !== (held.get(`${card.runner}/${card.index}`) ?? 0));
  const starved = shares.filter((share) => share.passedOver > PASSES_MAX + 3);
  return [
    ...cards.map((card) => `card ${card.index} of ${card.runner} holds ${card.heldMilli}m`),
    ...starved.map((share) => `request ${share.number} was passed over ${share.passedOver} times`),
  ];
}

function walk(seed: number, steps: number): void {
  const draw = xorshift(seed);
  const ledger = new CardLedger({ packs: draw(2) === 0 });
  let runners = 0;
  const alive: string[] = [];
  let shares: Share[] = [];
  for (let step = 0; step < steps; step++) {
    const appetite = draw(100);
    if (alive.length === 0 || (appetite < 1 && alive.length < 5)) {
      const name = `r${runners++}`;
      ledger.addRunner(name, 2 + draw(3));
      alive.push(name);
    } else if (appetite < 2) {
      const [name] = alive.splice(draw(alive.length), 1);
      ledger.removeRunner(name!);
    } else if (appetite < 55 && shares.filter((share) => share.state !== 'ended').length < 40) {
      const branch = [`s${draw(3)}`, `u${draw(4)}`];
      const { share } = ledger.request({
        runner: alive[draw(alive.length)]!,
        branch,
        milli: MILLI[draw(MILLI.length)]!,
      });
      shares.push(share);
    } else {
      const open = shares.filter((share) => share.state !== 'ended');
      const share = open[draw(Math.max(1, open.length))];
      if (share?.state === 'held') ledger.release(share);
      else if (share !== undefined && draw(4) === 0) ledger.withdraw(share);
    }
    if (step % 64 === 0) shares = shares.filter((share) => share.state !== 'ended');
    const wrong = [...ledger.audit(), ...differences(ledger, shares)];
    if (wrong.length > 0) throw new Error(`step ${step}: ${wrong.join('; ')}`);
  }
}

test('F73, F74: whatever is asked, released, withdrawn and lost at random, books and cards agree and nobody is passed over too often', () => {
  const only = process.env.FAIRLEAD_CARD_SEED;
  const seeds = only === undefined ? Array.from({ length: 10 }, (_, i) => 1000 + i) : [Number(only)];
  for (const seed of seeds) {
    try {
      walk(seed, STEPS / 10);
    } catch (error) {
      throw new Error(`failed with FAIRLEAD_CARD_SEED=${seed}`, { cause: error });
    }
  }
});
