// Cards across Pipelines (G7); C1 to C4 are the invariants at the head of operator/reconcile/cards/allocate.ts.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allocateCards, type CardClaim, offeredCards } from '../../operator/reconcile/index.ts';

const GPU = 'nvidia.com/gpu';

function claim(name: string, over: Partial<CardClaim> = {}): CardClaim {
  const [namespace = '', pipeline = ''] = name.split('/');
  return {
    namespace,
    pipeline,
    runnerClass: 'gpu',
    resourceName: GPU,
    cardsPerPod: 1,
    wantedPods: 4,
    heldPods: 0,
    ...over,
  };
}

const allocate = (claims: CardClaim[], cards = 4, weights: [string, number][] = []) =>
  allocateCards(claims, { capacity: new Map([[GPU, cards]]), weights: new Map(weights) });

describe('cards across Pipelines', () => {
  test('C3: a Pipeline alone takes all cards, and not more than it wants', () => {
    expect(allocate([claim('a/p')])).toEqual([4]);
    expect(allocate([claim('a/p', { wantedPods: 3 })])).toEqual([3]);
  });

  test('F59, C1: two Pipelines that both wait end with equal cards, whoever came first', () => {
    expect(allocate([claim('a/p', { heldPods: 4 }), claim('b/q')])).toEqual([2, 2]);
    expect(allocate([claim('a/p'), claim('b/q', { heldPods: 4 })])).toEqual([2, 2]);
  });

  test('C1: more Pipelines in a namespace gain nothing beside another namespace', () => {
    expect(allocate([claim('a/p'), claim('a/q'), claim('a/r'), claim('b/s')], 6)).toEqual([1, 1, 1, 3]);
  });

  test('C1: weights of namespaces are exact', () => {
    expect(allocate([claim('a/p', { wantedPods: 9 }), claim('b/q', { wantedPods: 9 })], 9, [['a', 2]])).toEqual([6, 3]);
  });

  test('C2: the odd card stays where it is', () => {
    expect(allocate([claim('a/p', { heldPods: 1 }), claim('b/q', { heldPods: 2 })], 3)).toEqual([1, 2]);
    expect(allocate([claim('a/p', { heldPods: 2 }), claim('b/q', { heldPods: 1 })], 3)).toEqual([2, 1]);
  });

  test('C4: a pod of two cards that does not fit any more leaves the card to others', () => {
    expect(allocate([claim('a/p', { cardsPerPod: 2 }), claim('b/q')], 5)).toEqual([1, 3]);
  });

  test('C4: MIG profiles are pools of their own', () => {
    const mig = 'nvidia.com/mig-1g.10gb';
    const capacity = new Map([
      [GPU, 1],
      [mig, 7],
    ]);
    const claims = [claim('a/p'), claim('a/q', { resourceName: mig, wantedPods: 9 })];
    expect(allocateCards(claims, { capacity, weights: new Map() })).toEqual([1, 7]);
  });

  test('C1 to C4: whatever is claimed, no pool is overdrawn, no card that somebody could use is left, and it settles', () => {
    const arb = fc.record({
      namespace: fc.constantFrom('a', 'b', 'c'),
      pipeline: fc.constantFrom('p', 'q'),
      cardsPerPod: fc.constantFrom(1, 2, 4),
      wantedPods: fc.nat(8),
      heldPods: fc.nat(8),
    });
    const claimsArb = fc.uniqueArray(arb, {
      maxLength: 6,
      selector: ({ namespace, pipeline }) => `${namespace}/${pipeline}`,
    });
    fc.assert(
      fc.property(claimsArb, fc.nat(24), (parts, cards) => {
        const claims = parts.map((part) => claim(`${part.namespace}/${part.pipeline}`, part));
        const pods = allocate(claims, cards);
        const used = claims.reduce((sum, { cardsPerPod }, i) => sum + cardsPerPod * pods[i]!, 0);
        expect(used).toBeLessThanOrEqual(cards);
        for (const [i, { wantedPods, cardsPerPod }] of claims.entries()) {
          expect(pods[i]).toBeLessThanOrEqual(wantedPods);
          if (pods[i]! < wantedPods) expect(cards - used).toBeLessThan(cardsPerPod);
        }
        const carriedOut = (from: number[]) =>
          allocate(
            claims.map((c, i) => ({ ...c, heldPods: from[i]! })),
            cards,
          );
        const settled = carriedOut(pods);
        expect(carriedOut(settled)).toEqual(settled);
      }),
    );
  });
});

test('nodes offer what is allocatable and not taken by others; cordoned nodes and broken cards offer nothing', () => {
  const nodes = [
    { name: 'n1', isSchedulable: true, allocatable: { [GPU]: '8' } },
    { name: 'n2', isSchedulable: false, allocatable: { [GPU]: '8' } },
    { name: 'n3', isSchedulable: true, allocatable: { [GPU]: '1' } },
    { name: 'n4', isSchedulable: true, allocatable: {} },
  ];
  const foreign = [
    { nodeName: 'n1', requests: { [GPU]: 3 } },
    { nodeName: 'n3', requests: { [GPU]: 2 } },
  ];
  expect(offeredCards(nodes, foreign, new Set([GPU]))).toEqual(new Map([[GPU, 5]]));
});
