// What the tree promises, rule by rule (docs/fairness.md). Each test names the rule that it is about.
import { describe, expect, test } from 'vitest';
import { fewestHeldFirst, type ServingRule } from '../../operator/admission/index.ts';
import { auditOf, type BranchSnapshot, snapshotOf } from '../../operator/inspection/index.ts';
import { World } from './world.ts';

describe('A1: a free slot is taken at once', () => {
  test('a lone update uses every slot: none is reserved', () => {
    const world = new World({ slots: 8 });
    world.askMany(world.update('lone'), 'r', 10);
    expect(world.executing()).toHaveLength(8);
  });

  test('nobody barges: a run that asks while another waits does not overtake it', () => {
    const world = new World({ slots: 1 });
    const update = world.update('u');
    const first = world.ask(update, 'first');
    world.ask(update, 'second');
    world.ask(update, 'third');
    world.end(first);
    expect(world.order()).toEqual(['first', 'second']);
  });
});

describe('A2: a freed slot goes to the branch that holds the fewest, then to the one that waited longest', () => {
  test('F45, F53: a small update is served before the backlog of a big one', () => {
    const world = new World({ slots: 4 });
    const big = world.askMany(world.update('big'), 'b', 100);
    world.ask(world.update('small'), 's');
    world.end(big[0]!);
    expect(world.order().at(-1)).toBe('s');
  });

  test('among equals the one whose present spell of waiting began first', () => {
    const world = new World({ slots: 2 });
    const [a, b] = [world.update('a'), world.update('b')];
    const [a1, b1] = [world.ask(a, 'a1'), world.ask(b, 'b1')];
    world.ask(b, 'b2');
    world.ask(a, 'a2');
    world.end(a1);
    world.end(b1);
    expect(world.order()).toEqual(['a1', 'b1', 'a2', 'b2']);
    const again = new World({ slots: 2 });
    const [c, d] = [again.update('c'), again.update('d')];
    const [c1, d1] = [again.ask(c, 'c1'), again.ask(d, 'd1')];
    again.ask(d, 'd2');
    again.ask(c, 'c2');
    again.end(d1);
    again.end(c1);
    expect(again.order()).toEqual(['c1', 'd1', 'd2', 'c2']);
  });

  test('a spell that ended counts no more: who comes back waits behind who has waited meanwhile', () => {
    const world = new World({ slots: 1 });
    const [a, b, c] = [world.update('a'), world.update('b'), world.update('c')];
    const held = world.ask(c, 'c1');
    const early = world.ask(a, 'a1');
    world.ask(b, 'b1');
    world.took(world.tree.withdraw(early));
    world.ask(a, 'a2');
    world.end(held);
    expect(world.order()).toEqual(['c1', 'b1']);
  });

  test('inside one update runs go in order of arrival', () => {
    const world = new World({ slots: 1 });
    world.askMany(world.update('u'), 'r', 20);
    world.drain();
    expect(world.order()).toEqual(Array.from({ length: 20 }, (_, i) => `r${i + 1}`));
  });

  test('F46: the slot goes down level by level: many updates of one live source gain nothing beside another source', () => {
    const world = new World({ slots: 2 });
    const [docs, code] = [world.source('docs'), world.source('code')];
    const held = world.ask(world.update('d0', docs), 'd0');
    world.ask(world.update('c0', code), 'c0');
    for (let i = 1; i <= 5; i++) world.ask(world.update(`d${i}`, docs), `d${i}`);
    world.ask(world.update('c1', code), 'c1');
    world.end(held);
    world.end(world.granted[1]!);
    expect(world.order()).toEqual(['d0', 'c0', 'd1', 'c1']);
  });

  test('a live source that another one mounted counts inside it, not beside it', () => {
    const world = new World({ slots: 2 });
    const outer = world.source('outer');
    const inner = world.source('inner', outer);
    const other = world.source('other');
    const held = world.ask(world.update('i', inner), 'i1');
    world.ask(world.update('x', other), 'x1');
    world.ask(world.update('o', outer), 'o1');
    world.ask(world.update('y', other), 'y1');
    world.end(world.granted[1]!);
    expect(world.order().at(-1)).toBe('y1');
    world.end(held);
    expect(world.order().at(-1)).toBe('o1');
  });
});

describe('A3: every branch on the path to the pool counts a slot', () => {
  /** Slots held by the pool and by each branch below it, by name. */
  const heldIn = (world: World): Record<string, number> => {
    const heldBelow = ({ name, heldSlots, children }: BranchSnapshot): [string, number][] => [
      [name, heldSlots],
      ...children.flatMap(heldBelow),
    ];
    return Object.fromEntries(heldBelow(snapshotOf(world.tree).pool));
  };

  test('when it is taken and when it is returned, and no other branch does', () => {
    const world = new World({ slots: 4 });
    const docs = world.source('docs');
    const run = world.ask(world.update('cycle', world.source('tickets', docs)), 'r');
    world.askMany(world.update('edit', docs), 'e', 2);
    expect(heldIn(world)).toEqual({ pool: 3, docs: 3, tickets: 1, cycle: 1, edit: 2 });
    world.end(run);
    expect(heldIn(world)).toEqual({ pool: 2, docs: 2, tickets: 0, cycle: 0, edit: 2 });
  });
});

describe('A4, A5: the limit holds, and nobody eligible waits while a slot is free', () => {
  test('a waiter that is cancelled loses no wake-up: the next one is served', () => {
    const world = new World({ slots: 1 });
    const update = world.update('u');
    const first = world.ask(update, 'first');
    const cancelled = world.ask(update, 'cancelled');
    world.ask(update, 'next');
    world.took(world.tree.withdraw(cancelled));
    world.end(first);
    expect(world.order()).toEqual(['first', 'next']);
  });

  test('F65: 1,000 random cancels leave the pool full, and every count at 0 when all is over', () => {
    const world = new World({ slots: 16 });
    const updates = Array.from({ length: 7 }, (_, i) => world.update(`u${i}`));
    const runs = Array.from({ length: 3_000 }, (_, i) => world.ask(updates[(i * 31) % 7]!, `r${i}`));
    for (let i = 0; i < 1_000; i++) {
      const run = runs[(i * 7919) % 3_000]!;
      if (run.state === 'waiting') world.took(world.tree.withdraw(run));
    }
    expect(world.executing()).toHaveLength(16);
    world.drain();
    expect(runs.every((run) => run.state === 'ended')).toBe(true);
    expect(world.ask(updates[0]!, 'after').state).toBe('granted');
  });

  test('among 60 branches random cancels and endings leave every order as it should be', () => {
    const world = new World({ slots: 4 });
    const updates = Array.from({ length: 60 }, (_, i) => world.update(`u${i}`));
    const runs = Array.from({ length: 70 }, (_, i) => world.ask(updates[(i * 37) % 60]!, `r${i}`));
    for (let i = 0; i < 400; i++) {
      const run = runs[(i * 7919) % 70]!;
      if (run.state === 'waiting') world.took(world.tree.withdraw(run));
      else if (i % 3 === 0 && run.state === 'granted') world.end(run);
      else runs[(i * 7919) % 70] = world.ask(updates[(i * 11) % 60]!, `n${i}`);
      expect(auditOf(world.tree)).toEqual([]);
    }
  });

  test.for([
    [10, 100],
    [1_000, 2],
    [1_000, 100],
    [10_000, 2],
  ] as const)(
    'F54, F56: with %d updates side by side and %d runs waiting in each, a decision compares by the logarithm of the updates',
    ([updates, waiting]) => {
      let comparisons = 0;
      const rule: ServingRule = {
        name: 'counted',
        compare: (a, b) => {
          comparisons++;
          return fewestHeldFirst.compare(a, b);
        },
      };
      const world = new World({ slots: 8, rule });
      for (let i = 0; i < updates; i++) world.askMany(world.update(`u${i}`), 'r', waiting);
      for (let i = 0; i < 100; i++) {
        comparisons = 0;
        world.end(world.inFlight()[i % 8]!);
        expect(comparisons).toBeLessThan(4 * Math.log2(updates) + 4);
      }
    },
  );

  test('F55, A6: a lowered limit takes nothing away and takes effect as runs end', () => {
    const world = new World({ slots: 4 });
    const runs = world.askMany(world.update('u'), 'r', 10);
    world.took(world.tree.setSlots(2));
    expect(world.executing()).toHaveLength(4);
    world.end(runs[0]!);
    world.end(runs[1]!);
    expect(world.executing()).toHaveLength(2);
    world.end(runs[2]!);
    expect(world.executing()).toHaveLength(2);
  });

  test('a raised limit is filled at once', () => {
    const world = new World({ slots: 1 });
    world.askMany(world.update('u'), 'r', 10);
    world.took(world.tree.setSlots(6));
    expect(world.executing()).toHaveLength(6);
  });
});

describe('A7: a parent that waits lends its slot to one child at a time', () => {
  test('the first child needs no slot of the pool, and the loan passes on in order', () => {
    const world = new World({ slots: 1 });
    const update = world.update('u');
    const parent = world.ask(update, 'parent');
    const children = world.askMany(update, 'child', 3, { lender: parent });
    expect(world.order()).toEqual(['parent', 'child1']);
    expect([children[0]!.loanOf, parent.isExecuting]).toEqual([parent, false]);
    world.end(children[0]!);
    world.end(children[1]!);
    world.end(children[2]!);
    expect(world.order()).toEqual(['parent', 'child1', 'child2', 'child3']);
    expect(parent.isExecuting).toBe(true);
  });

  test.for([1, 2, 5, 20, 200])('any depth completes on one slot: a chain of %d nested runs', (depth) => {
    const world = new World({ slots: 1 });
    const update = world.update('u');
    const chain = [world.ask(update, 'root')];
    for (let i = 1; i < depth; i++) {
      chain.push(world.ask(update, `r${i}`, { lender: chain.at(-1)! }));
      expect(world.executing()).toEqual([chain.at(-1)]);
    }
    for (const run of chain.reverse()) world.end(run);
    expect(world.inFlight()).toEqual([]);
  });

  test('F66: a tree of depth 5 and width 3 completes on one slot', () => {
    const world = new World({ slots: 1 });
    const update = world.update('u');
    let ended = 0;
    const run = (parent: ReturnType<World['ask']> | undefined, depth: number): void => {
      const own = world.ask(update, `d${depth}`, parent && { lender: parent });
      expect(own.state).toBe('granted');
      if (depth < 5) for (let i = 0; i < 3; i++) run(own, depth + 1);
      world.end(own);
      ended++;
    };
    run(undefined, 1);
    expect(ended).toBe(121);
  });

  test('a child that waits takes whichever comes first, the pool or the loan', () => {
    const world = new World({ slots: 2 });
    const update = world.update('u');
    const parent = world.ask(update, 'parent');
    const other = world.ask(world.update('other'), 'other');
    const [first, second] = world.askMany(update, 'child', 2, { lender: parent });
    expect(second!.state).toBe('waiting');
    world.end(other);
    expect([second!.state, second!.loanOf]).toEqual(['granted', undefined]);
    world.end(first!);
    expect(world.borrowerOf(parent)).toBeUndefined();
  });

  test('a parent that ends while it lends leaves the slot with the borrower, and the slot comes back once', () => {
    const world = new World({ slots: 1 });
    const update = world.update('u');
    const parent = world.ask(update, 'parent');
    const child = world.ask(update, 'child', { lender: parent });
    const waiter = world.ask(world.update('v'), 'waiter');
    world.end(parent);
    expect([child.state, waiter.state]).toEqual(['granted', 'waiting']);
    world.end(child);
    expect(waiter.state).toBe('granted');
    expect(world.executing()).toHaveLength(1);
  });

  test('when a lender ends, its child that borrows keeps the slot, and those that waited for the loan wait for the pool', () => {
    const world = new World({ slots: 1 });
    const update = world.update('u');
    const parent = world.ask(update, 'parent');
    const [first, second] = world.askMany(update, 'child', 2, { lender: parent });
    world.end(parent);
    expect([first!.state, first!.loanOf, second!.state]).toEqual(['granted', undefined, 'waiting']);
    world.end(first!);
    expect([second!.state, second!.loanOf]).toEqual(['granted', undefined]);
  });

  test('a loan counts once: nesting does not make an update look heavier than it is', () => {
    const world = new World({ slots: 3 });
    const [deep, flat] = [world.update('deep'), world.update('flat')];
    const root = world.ask(deep, 'root');
    const child = world.ask(deep, 'child', { lender: root });
    world.ask(deep, 'grandchild', { lender: child });
    world.ask(flat, 'f1');
    world.ask(flat, 'f2');
    const wanted = world.ask(deep, 'deep2');
    world.ask(flat, 'f3');
    world.end(world.granted.find((run) => world.nameOf(run) === 'f1')!);
    expect(wanted.state).toBe('granted');
  });

  test('F61, A4: runs in flight never exceed the limit times the depth', () => {
    const world = new World({ slots: 4 });
    const update = world.update('u');
    const roots = world.askMany(update, 'root', 30);
    for (let round = 0; round < 40; round++) {
      for (const run of world.inFlight().filter((run) => run.loanOf === undefined && !world.borrowerOf(run))) {
        if (roots.includes(run)) world.ask(update, `child${round}`, { lender: run });
      }
      expect(world.inFlight().length).toBeLessThanOrEqual(4 * 2);
      expect(world.executing().length).toBeLessThanOrEqual(4);
      const leaf = world.inFlight().find((run) => !world.borrowerOf(run));
      if (leaf !== undefined) world.end(leaf);
    }
  });
});

describe('A8: a live source borrows the slot of the run that mounted it, as long as that run lasts', () => {
  test('its updates need no slot of the pool at first, and take slots of the pool afterwards', () => {
    const world = new World({ slots: 1 });
    const mounting = world.ask(world.update('u', world.source('outer')), 'mounting');
    const outer = world.source('outer2');
    const inner = world.tree.openSource(outer, 'inner', { mountedBy: mounting });
    const [first, second] = [world.ask(world.update('c1', inner), 'c1'), world.ask(world.update('c2', inner), 'c2')];
    expect([first.state, first.loanOf, second.state]).toEqual(['granted', mounting, 'waiting']);
    world.end(first);
    expect(second.loanOf).toBe(mounting);
    world.end(mounting);
    world.end(second);
    const third = world.ask(world.update('c3', inner), 'c3');
    expect([third.state, third.loanOf]).toEqual(['granted', undefined]);
  });

  test('of its updates that wait for the loan, the one whose run asked first has it next', () => {
    const world = new World({ slots: 1 });
    const mounting = world.ask(world.update('u', world.source('outer')), 'mounting');
    const inner = world.tree.openSource(world.pool, 'inner', { mountedBy: mounting });
    const updates = ['c1', 'c2', 'c3', 'c4'].map((name) => world.update(name, inner));
    for (const i of [0, 2, 1, 3]) world.ask(updates[i]!, `run of c${i + 1}`);
    for (let i = 0; i < 3; i++) world.end(world.executing()[0]!);
    expect(world.order()).toEqual(['mounting', 'run of c1', 'run of c3', 'run of c2', 'run of c4']);
  });
});

describe('A9: one execution of a component at a time', () => {
  test('the others wait without a slot and share the outcome', () => {
    const world = new World({ slots: 4 });
    const options = { component: 'docs/a.md', version: 'v1' };
    const first = world.ask(world.update('a'), 'first', options);
    const twin = world.ask(world.update('b'), 'twin', options);
    world.askMany(world.update('c'), 'r', 3);
    expect([twin.state, world.executing().length]).toEqual(['following', 4]);
    expect(world.end(first)).toEqual([twin]);
    expect(twin.state).toBe('ended');
    expect(world.order()).not.toContain('twin');
  });

  test('a failed run is not reused: a waiter executes', () => {
    const world = new World({ slots: 4 });
    const options = { component: 'docs/a.md', version: 'v1' };
    const first = world.ask(world.update('a'), 'first', options);
    const twin = world.ask(world.update('b'), 'twin', options);
    expect(world.end(first, 'failed')).toEqual([]);
    expect(twin.state).toBe('granted');
  });

  test('while two grants of one component are out after a take-over, followers wait for the last of them', () => {
    const world = new World({ slots: 4 });
    const options = { component: 'docs/a.md', version: 'v1' };
    const [first, second] = [1, 2].map(() => world.tree.adopt(world.update('a'), options));
    const twin = world.ask(world.update('b'), 'twin', options);
    world.end(first!, 'failed');
    expect(twin.state).toBe('following');
    world.end(second!, 'failed');
    expect(twin.state).toBe('granted');
  });

  test('another version executes after the one that runs, never beside it', () => {
    const world = new World({ slots: 4 });
    const first = world.ask(world.update('a'), 'first', { component: 'docs/a.md', version: 'v1' });
    const newer = world.ask(world.update('b'), 'newer', { component: 'docs/a.md', version: 'v2' });
    expect(newer.state).toBe('following');
    world.end(first);
    expect(newer.state).toBe('granted');
  });

  test('of two that both wait the small update does not wait in the queue of the big one', () => {
    const world = new World({ slots: 2 });
    const big = world.update('big');
    const held = world.ask(big, 'b0');
    world.askMany(big, 'b', 50);
    const queued = world.ask(big, 'last', { component: 'docs/a.md', version: 'v1' });
    const fix = world.ask(world.update('fix'), 'fix', { component: 'docs/a.md', version: 'v2' });
    world.end(held);
    expect([fix.state, queued.state]).toEqual(['granted', 'following']);
  });
});

describe('A10: a delete is a run like any other', () => {
  test('it waits under the same limit, and follows the run that still writes the same component', () => {
    const world = new World({ slots: 2 });
    const update = world.update('cycle');
    const write = world.ask(update, 'write', { component: 'docs/a.md', version: 'v1' });
    const same = world.ask(update, 'delete what is written', { component: 'docs/a.md' });
    const other = world.ask(update, 'write another');
    const late = world.ask(update, 'delete another', { component: 'docs/b.md' });
    expect([same.state, late.state]).toEqual(['following', 'waiting']);
    world.end(write);
    expect([same.state, late.state]).toEqual(['granted', 'waiting']);
    world.end(other);
    expect(late.state).toBe('granted');
  });
});

describe('A11: weights, costs and limits, off unless somebody sets them', () => {
  test('weights are exact: 3 to 1 of 400 slots is 300 to 100', () => {
    const world = new World({ slots: 400 });
    const [heavy, light] = [world.source('heavy', world.pool, 3), world.source('light')];
    const warm = world.askMany(world.update('w'), 'w', 400);
    const runs = world.askMany(world.update('h', heavy), 'h', 400);
    world.askMany(world.update('l', light), 'l', 400);
    for (const run of warm) world.end(run);
    expect(runs.filter((run) => run.state === 'granted')).toHaveLength(300);
  });

  test('F70: an edited weight decides the next freed slot, for the backlog too', () => {
    const world = new World({ slots: 4 });
    const [a, b] = [world.source('a'), world.source('b')];
    const held = world.askMany(world.update('a1', a), 'a', 20);
    world.askMany(world.update('b1', b), 'b', 20);
    world.end(held[0]!);
    world.end(held[1]!);
    world.tree.setWeight(a, 3);
    world.end(world.inFlight().find((run) => world.nameOf(run).startsWith('b'))!);
    expect(world.order().at(-1)).toMatch(/^a/);
  });

  test('cost in bytes: the branch with fewer bytes in flight is served, though it holds more slots', () => {
    const world = new World({ slots: 4, cost: 'bytes' });
    const [heavy, light] = [world.update('heavy'), world.update('light')];
    world.ask(heavy, 'h1', { bytes: 1_000 });
    const held = world.askMany(light, 'l', 3, { bytes: 10 });
    const [nextHeavy, nextLight] = [world.ask(heavy, 'h2', { bytes: 1_000 }), world.ask(light, 'l4', { bytes: 10 })];
    world.end(held[0]!);
    expect([nextHeavy.state, nextLight.state]).toEqual(['waiting', 'granted']);
  });

  test('dominant share: whoever holds the larger part of anything waits, and a new limit on bytes counts at once', () => {
    const served = (bytes: number): string => {
      const world = new World({ slots: 10, cost: 'dominant-share', milliCards: 4_000, limits: { bytes: 1_000 } });
      const [heavy, cards] = [world.update('heavy'), world.update('cards')];
      world.ask(heavy, 'h1', { bytes: 400 });
      world.ask(cards, 'c1', { milliCards: 1_000 });
      const fill = world.askMany(world.update('fill'), 'f', 8);
      world.ask(heavy, 'h2', { bytes: 1 });
      world.ask(cards, 'c2', { milliCards: 1 });
      world.took(world.tree.setLimits(world.pool, { bytes }));
      world.end(fill[0]!);
      return world.order().at(-1)!;
    };
    expect([served(1_000), served(4_000)]).toEqual(['c2', 'h2']);
  });

  test('dominant share: the limit on slots counts as it is now', () => {
    const served = (slots: number): string => {
      const world = new World({ slots: 4, cost: 'dominant-share', milliCards: 1_000 });
      const [wide, cards] = [world.update('wide'), world.update('cards')];
      const held = world.askMany(wide, 'w', 3);
      world.ask(cards, 'c1', { milliCards: 400 });
      world.ask(wide, 'w4');
      world.ask(cards, 'c2');
      const before = world.granted.length;
      world.took(world.tree.setSlots(slots));
      if (world.granted.length === before) world.end(held[0]!);
      return world.order()[before]!;
    };
    expect([served(4), served(10)]).toEqual(['c2', 'w4']);
  });

  test('F52: a run that a limit stops is the next to start below it, however many lighter ones ask', () => {
    const world = new World({ slots: 8, limits: { rows: 10 } });
    const small = world.askMany(world.update('light'), 's', 5, { rows: 2 });
    const heavy = world.ask(world.update('heavy'), 'heavy', { rows: 12 });
    const after = world.askMany(world.update('stream'), 'a', 20, { rows: 1 });
    for (const run of small) {
      expect(heavy.state).toBe('waiting');
      world.end(run);
    }
    expect([heavy.state, ...new Set(after.map(({ state }) => state))]).toEqual(['granted', 'waiting']);
  });

  test('a branch that its own limit stops is passed over and holds nobody back', () => {
    const world = new World({ slots: 8 });
    const source = world.tree.openSource(world.pool, 'bounded', { limits: { rows: 10 } });
    const bounded = world.askMany(world.update('b', source), 'b', 4, { rows: 5 });
    const free = world.askMany(world.update('f'), 'f', 4, { rows: 5 });
    expect(bounded.map((run) => run.state)).toEqual(['granted', 'granted', 'waiting', 'waiting']);
    expect(free.every((run) => run.state === 'granted')).toBe(true);
    world.end(bounded[0]!);
    expect(bounded[2]!.state).toBe('granted');
  });

  test('an item heavier than a limit runs alone under it, and never waits for ever', () => {
    const world = new World({ slots: 8, limits: { bytes: 100 } });
    const update = world.update('u');
    const small = world.ask(update, 'small', { bytes: 60 });
    const giant = world.ask(update, 'giant', { bytes: 5_000 });
    expect(giant.state).toBe('waiting');
    world.end(small);
    expect(giant.state).toBe('granted');
    const next = world.ask(update, 'next', { bytes: 1 });
    expect(next.state).toBe('waiting');
    world.end(giant);
    expect(next.state).toBe('granted');
  });

  test('limits of the pool and of every live source on the way hold at once', () => {
    const world = new World({ slots: 64, limits: { rows: 100 } });
    const outer = world.tree.openSource(world.pool, 'outer', { limits: { rows: 50 } });
    const inner = world.tree.openSource(outer, 'inner', { limits: { bytes: 200 } });
    const started = (name: string, parent: typeof outer) =>
      world
        .askMany(world.update(name, parent), name, 12, { rows: 10, bytes: 100 })
        .filter(({ state }) => state === 'granted');
    expect([started('i', inner).length, started('o', outer).length, started('p', world.pool).length]).toEqual([
      2, 3, 5,
    ]);
  });
});

describe('M1: a parent that never ends holds nobody up who is heavier than a limit', () => {
  test('its own load counts for what fits, but who is alone beside it and its like may start', () => {
    const world = new World({ slots: 8, limits: { rows: 3 } });
    const update = world.update('u');
    const live = world.ask(update, 'live', { rows: 1 });
    const child = world.ask(update, 'child', { lender: live, rows: 1 });
    const heavy = world.ask(world.update('heavy'), 'heavy', { rows: 5 });
    expect([child.state, heavy.state]).toEqual(['granted', 'waiting']);
    world.end(child);
    expect([live.state, live.isExecuting, heavy.state]).toEqual(['granted', true, 'granted']);
  });

  test('nor can its children, one after the other: the heavy run is the next to start', () => {
    const world = new World({ slots: 8, limits: { rows: 3 } });
    const update = world.update('u');
    const live = world.ask(update, 'live', { rows: 1 });
    const first = world.ask(update, 'first', { lender: live, rows: 1 });
    const heavy = world.ask(world.update('heavy'), 'heavy', { rows: 5 });
    const later = world.askMany(update, 'later', 5, { lender: live, rows: 1 });
    world.end(first);
    expect([heavy.state, ...new Set(later.map(({ state }) => state))]).toEqual(['granted', 'waiting']);
    world.end(heavy);
    expect(later[0]!.state).toBe('granted');
  });
});

describe('M3: whoever would be served below a closed branch gives his place to the run that it is closed for', () => {
  /** `heavy` was next when a slot was free, was stopped by the limit on `source`, and the slot went elsewhere. */
  function stopped() {
    const world = new World({ slots: 2 });
    const source = world.tree.openSource(world.pool, 'source', { limits: { rows: 3 } });
    const live = world.update('live', source);
    const parent = world.ask(live, 'parent');
    const children = world.askMany(live, 'child', 5, { lender: parent, rows: 1 });
    const heavy = world.ask(world.update('heavy', source), 'heavy', { rows: 5 });
    world.end(children[1]!);
    const elsewhere = world.ask(world.update('elsewhere'), 'elsewhere');
    return { world, parent, children, heavy, elsewhere };
  }

  test('children of a parent that never ends cannot pass it on the loan of their parent while no slot is free', () => {
    const { world, parent, children, heavy, elsewhere } = stopped();
    expect([heavy.state, elsewhere.state]).toEqual(['waiting', 'granted']);
    world.end(children[0]!);
    expect([heavy.state, heavy.loanOf, children[2]!.state]).toEqual(['granted', parent, 'waiting']);
    world.end(heavy);
    expect([children[2]!.state, children[2]!.loanOf]).toEqual(['granted', parent]);
  });

  test('it keeps the slot of a parent that ends meanwhile, and that slot comes back once', () => {
    const { world, parent, children, heavy } = stopped();
    world.end(children[0]!);
    world.end(parent);
    expect([heavy.state, heavy.loanOf]).toEqual(['granted', undefined]);
    expect(auditOf(world.tree)).toEqual([]);
    world.drain();
    expect(snapshotOf(world.tree).pool).toMatchObject({ heldSlots: 0, waiting: 0 });
  });

  test('with one slot, a child never waits for a run that waits for the slot of its parent', () => {
    const { world, parent, children, heavy, elsewhere } = stopped();
    world.took(world.tree.setSlots(1));
    world.end(elsewhere);
    world.end(children[0]!);
    expect([heavy.state, heavy.loanOf, world.executing()]).toEqual(['granted', parent, [heavy]]);
  });

  test('A12: while its class has no room, others are served as if it did not wait', () => {
    const world = new World({ slots: 8, rooms: { cpu: 8, gpu: 1 }, limits: { rows: 3 } });
    const light = world.update('light');
    world.ask(light, 'l', { runnerClass: 'cpu', rows: 2 });
    const heavy = world.ask(world.update('heavy'), 'heavy', { runnerClass: 'gpu', rows: 5 });
    const next = world.ask(light, 'next', { runnerClass: 'cpu', rows: 1 });
    expect([heavy.state, next.state]).toEqual(['waiting', 'waiting']);
    world.took(world.tree.setRoom('gpu', 0));
    expect([heavy.state, next.state]).toEqual(['waiting', 'granted']);
  });
});

describe('A12: a run needs a class of runner', () => {
  test('a run that names no class takes the room of the class that has most of it', () => {
    const world = new World({ slots: 9, rooms: { cpu: 1, big: 2 } });
    const runs = world.askMany(world.update('u'), 'r', 5);
    expect(runs.map(({ runnerClass, state }) => (state === 'granted' ? runnerClass : state))).toEqual([
      'big',
      'cpu',
      'big',
      'waiting',
      'waiting',
    ]);
  });

  test('a branch whose runs all need a class without room is passed over as if it did not wait', () => {
    const world = new World({ slots: 4, rooms: { cpu: 4, gpu: 1 } });
    const gpu = world.askMany(world.update('g'), 'g', 50, { runnerClass: 'gpu' });
    const cpu = world.askMany(world.update('c'), 'c', 3, { runnerClass: 'cpu' });
    expect(gpu.filter((run) => run.state === 'granted')).toHaveLength(1);
    expect(cpu.every((run) => run.state === 'granted')).toBe(true);
  });

  test('F57: a thousand hopeless heads do not hide the one that can run', () => {
    const world = new World({ slots: 4, rooms: { cpu: 1, gone: 0 } });
    const updates = Array.from({ length: 1_000 }, (_, i) => world.update(`h${i}`));
    for (const update of updates) world.ask(update, 'h', { runnerClass: 'gone' });
    expect(world.ask(world.update('u'), 'runs', { runnerClass: 'cpu' }).state).toBe('granted');
  });

  test('a parent that waits for a child takes no room in its class', () => {
    const world = new World({ slots: 4, rooms: { cpu: 1 } });
    const update = world.update('u');
    const parent = world.ask(update, 'parent', { runnerClass: 'cpu' });
    const child = world.ask(update, 'child', { lender: parent, runnerClass: 'cpu' });
    expect([child.state, parent.isExecuting]).toEqual(['granted', false]);
  });

  test('room that comes is filled at once, and room that goes takes nothing from running runs', () => {
    const world = new World({ slots: 8, rooms: { cpu: 0 } });
    const runs = world.askMany(world.update('u'), 'r', 6, { runnerClass: 'cpu' });
    world.took(world.tree.setRoom('cpu', 4));
    expect(world.executing()).toHaveLength(4);
    world.took(world.tree.setRoom('cpu', 1));
    expect(world.executing()).toHaveLength(4);
    for (const run of runs.slice(0, 3)) world.end(run);
    expect(world.executing()).toHaveLength(1);
  });
});

describe('A13: who parks or backs off holds no slot', () => {
  test('F63: its slot serves another meanwhile, and its next attempt waits like any request', () => {
    const world = new World({ slots: 1 });
    const attempt = world.ask(world.update('a'), 'attempt 1', { component: 'docs/a.md' });
    const other = world.ask(world.update('b'), 'other');
    world.end(attempt, 'failed');
    expect(other.state).toBe('granted');
    const again = world.ask(world.update('a'), 'attempt 2', { component: 'docs/a.md' });
    expect(again.state).toBe('waiting');
    world.end(other);
    expect(again.state).toBe('granted');
  });
});

describe('weak spots of fewest held first, each a property', () => {
  test('F51: an endless stream of one-run updates holds a big update to one slot, never to zero', () => {
    const world = new World({ slots: 4 });
    const big = world.askMany(world.update('big'), 'b', 1_000);
    let fresh = 0;
    for (let i = 0; i < 8; i++) world.ask(world.update(`s${fresh}`), `s${fresh++}`);
    for (let step = 0; step < 400; step++) {
      world.ask(world.update(`s${fresh}`), `s${fresh++}`);
      world.end(world.inFlight()[0]!);
    }
    const done = big.filter((run) => run.state === 'ended').length;
    expect(done, 'the big update moves: about one slot in four').toBeGreaterThan(60);
  });

  test('F49: each of five updates that keep waiting has a fifth of the slots once as many were freed', () => {
    const world = new World({ slots: 20 });
    world.askMany(world.update('u0'), 'u0-', 500);
    for (let i = 1; i < 5; i++) world.askMany(world.update(`u${i}`), `u${i}-`, 500);
    for (let i = 0; i < 20; i++) world.end(world.inFlight()[0]!);
    for (let i = 0; i < 5; i++) {
      const held = world.inFlight().filter((run) => world.nameOf(run).startsWith(`u${i}-`)).length;
      expect(held).toBeGreaterThanOrEqual(4);
    }
  });

  test('F58: splitting work into a hundred updates gains nothing beside another source', () => {
    const world = new World({ slots: 10 });
    const [split, whole] = [world.source('split'), world.source('whole')];
    const warm = world.askMany(world.update('warm'), 'w', 10);
    for (let i = 0; i < 100; i++) world.ask(world.update(`p${i}`, split), `p${i}`);
    const runs = world.askMany(world.update('x', whole), 'x', 100);
    for (const run of warm) world.end(run);
    expect(runs.filter((run) => run.state === 'granted')).toHaveLength(5);
  });
});

describe('removal of a branch', () => {
  test('withdraws what waits, leaves running runs their slots, and counts them until they end', () => {
    const world = new World({ slots: 1 });
    const source = world.source('gone');
    const update = world.update('u', source);
    const [running, waiting] = world.askMany(update, 'r', 2);
    const other = world.ask(world.update('v'), 'other');
    const { withdrawn, granted } = world.tree.remove(source);
    expect([withdrawn, granted]).toEqual([[waiting], []]);
    expect(() => world.ask(update, 'late')).toThrow(/removed/);
    world.end(running!);
    expect(other.state).toBe('granted');
  });
});

describe('misuse is refused at once', () => {
  test('a slot that was given back cannot be given back again', () => {
    const world = new World();
    const run = world.ask(world.update('u'), 'r');
    world.end(run);
    expect(() => world.end(run)).toThrow(/nothing to release/);
  });

  test.for([0, -1, 1.5, 1_000_001, Number.NaN])('a limit of %d slots', (slots) => {
    expect(() => new World({ slots })).toThrow(/1 to 1,?000,?000|integer/);
  });
});
