// The card ledger; G1 to G6, L1 and L2 are the invariants at the head of operator/cards/ledger.ts.
import { describe, expect, test } from 'vitest';
import { CardLedger, PASSES_MAX, type Share } from '../../operator/cards/index.ts';

function ledgerWith(cards: Record<string, number>, options = {}): CardLedger {
  const ledger = new CardLedger(options);
  for (const [runner, count] of Object.entries(cards)) ledger.addRunner(runner, count);
  return ledger;
}

const ask = (ledger: CardLedger, milli: number, branch = 'u', runner = 'r'): Share =>
  ledger.request({ runner, branch: [branch], milli }).share;
const cardsOf = (ledger: CardLedger): number[] => ledger.snapshot().map((card) => card.heldMilli);

describe('shares of cards', () => {
  test('F78, G1: 400m, 400m and 200m fit one card; the same in floating point would not', () => {
    const ledger = ledgerWith({ r: 1 });
    const shares = [400, 400, 200].map((milli) => ask(ledger, milli));
    expect(shares.map((share) => share.state)).toEqual(['held', 'held', 'held']);
    expect(ask(ledger, 1).state).toBe('waiting');
  });

  test.for([0, -1, 0.5, 1500, 64_500, 65_000])('F75, G1: %d thousandths are refused with a message', (milli) => {
    expect(CardLedger.refusal(milli, 64)).toMatchObject({ kind: 'not-a-share' });
  });

  test('G1: two cards on runners of one are refused at once, and told what to change', () => {
    expect(CardLedger.refusal(2000, 1)).toEqual({
      kind: 'too-many-cards',
      message: 'gpu asks for 2 cards of one runner, and the runners of its class have 1: raise gpus of the class',
    });
    expect(CardLedger.refusal(2000, 2)).toBeUndefined();
  });

  test('F79, G1: whole requests and fractions mix on the cards of one runner', () => {
    const ledger = ledgerWith({ r: 4 }, { packs: true });
    for (const milli of [250, 500, 1000, 2000]) ask(ledger, milli);
    expect(cardsOf(ledger).sort()).toEqual([1000, 1000, 1000, 750]);
    expect(ledger.waiting().map((share) => share.milli)).toEqual([]);
  });

  test('F80, G3: a freed share goes to the branch that holds fewer thousandths, however long the other has waited', () => {
    const ledger = ledgerWith({ r: 1 });
    const big = [ask(ledger, 500, 'big'), ask(ledger, 500, 'big')];
    const waiting = ask(ledger, 500, 'big');
    const small = ask(ledger, 500, 'small');
    ledger.release(big[0]!);
    expect([waiting.state, small.state]).toEqual(['waiting', 'held']);
  });

  test('G3: shares are compared level by level: many updates of one source gain nothing beside another source', () => {
    const ledger = ledgerWith({ r: 2 });
    const held = ['a', 'b', 'c', 'd'].map(
      (update) => ledger.request({ runner: 'r', branch: ['docs', update], milli: 500 }).share,
    );
    const again = ledger.request({ runner: 'r', branch: ['docs', 'e'], milli: 500 }).share;
    const other = ledger.request({ runner: 'r', branch: ['code', 'x'], milli: 500 }).share;
    ledger.release(held[0]!);
    expect([again.state, other.state]).toEqual(['waiting', 'held']);
  });

  test('G3: an edited weight decides the next freed share already', () => {
    const ledger = ledgerWith({ r: 1 });
    const held = [ask(ledger, 250, 'a'), ask(ledger, 250, 'a'), ask(ledger, 250, 'a'), ask(ledger, 250, 'b')];
    const [a, b] = [ask(ledger, 250, 'a'), ask(ledger, 250, 'b')];
    ledger.setWeight(['a'], 4);
    ledger.release(held[0]!);
    expect([a.state, b.state]).toEqual(['held', 'waiting']);
  });

  test('F72, G4: sixteen halves on one runner of eight cards are two on each, whether they come at once or one by one', () => {
    for (const packs of [false, true]) {
      const ledger = ledgerWith({ r: 8 }, { packs });
      for (let i = 0; i < 16; i++) ask(ledger, 500);
      expect(cardsOf(ledger)).toEqual(Array.from({ length: 8 }, () => 1000));
    }
  });

  test('G4: halves spread over idle cards, but leave whole cards alone where somebody needs whole ones', () => {
    const spread = ledgerWith({ r: 4 });
    const packed = ledgerWith({ r: 4 }, { packs: true });
    for (let i = 0; i < 4; i++) for (const ledger of [spread, packed]) ask(ledger, 500);
    expect(cardsOf(spread)).toEqual([500, 500, 500, 500]);
    expect(cardsOf(packed)).toEqual([1000, 1000, 0, 0]);
  });

  test('G5: a whole request is passed over by an endless stream of fractions at most eight times', () => {
    const ledger = ledgerWith({ r: 1 });
    const held = [ask(ledger, 500, 'stream'), ask(ledger, 500, 'stream')];
    const whole = ask(ledger, 1000, 'whole');
    for (let i = 0; whole.state === 'waiting'; i++) {
      if (i > 100) throw new Error('the whole request starves');
      ask(ledger, 500, `stream-${i}`);
      const oldest = held.shift()!;
      held.push(...(ledger.release(oldest) as Share[]).filter((share) => share !== whole));
    }
    expect(whole.passedOver).toBe(PASSES_MAX);
  });

  test('F60, G5: a card that drains for a whole request goes to that request, not to a fraction that is due by the rule', () => {
    const ledger = ledgerWith({ r: 1 });
    const first = ask(ledger, 600);
    const whole = ask(ledger, 1000);
    const passing = Array.from({ length: PASSES_MAX }, () => {
      const share = ask(ledger, 400, 'other');
      if (share.state === 'held') ledger.release(share);
      return share;
    });
    expect(passing.every((share) => share.state === 'ended')).toBe(true);
    const late = ask(ledger, 400, 'fresh');
    expect(late.state).toBe('waiting');
    expect(ledger.snapshot()[0]).toMatchObject({ drainsFor: whole.number });
    ledger.release(first);
    expect([whole.state, late.state]).toEqual(['held', 'waiting']);
  });

  test('G6: a share comes back only by its release or with its runner, and only once', () => {
    const ledger = ledgerWith({ r: 1, s: 1 });
    const [share, waiter] = [ask(ledger, 1000), ask(ledger, 500)];
    ledger.closeRunner('r');
    expect(cardsOf(ledger)).toEqual([1000, 0]);
    expect(ledger.removeRunner('r')).toEqual([share, waiter]);
    expect(ledger.removeRunner('r')).toEqual([]);
    expect(() => ledger.release(share)).toThrow(/nothing to release/);
    expect(ledger.heldMilli()).toBe(0);
  });

  test('a new leader takes over what runners report, and serves what fits beside it', () => {
    const ledger = ledgerWith({ r: 2 });
    const adopted = ledger.adopt({ runner: 'r', branch: ['u'], milli: 700 }, [1]);
    expect(cardsOf(ledger)).toEqual([0, 700]);
    expect(ask(ledger, 1000).cards).toEqual([0]);
    ledger.release(adopted);
    expect(ledger.audit()).toEqual([]);
  });
});
