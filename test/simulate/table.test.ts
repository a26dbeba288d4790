// The published table of serving rules: every figure, to the millisecond and the percent, from the tree that ships.
import { expect, test } from 'vitest';
import { type Simulation, simulateTable } from '../../cli/simulate/index.ts';

const TABLE = [
  { rule: 'fifo', small: 545, bigDone: 400, big: 500, bigAlone: 500, laterSmall: 2500, share: 0 },
  { rule: 'strict-priority', small: 55, bigDone: 8, big: 550, bigAlone: 500, laterSmall: 540, share: 0.5 },
  { rule: 'strict-priority', small: 545, bigDone: 400, big: 500, bigAlone: 500, laterSmall: 2500, share: 0 },
  { rule: 'fixed-share', small: 100, bigDone: 40, big: 1000, bigAlone: 1000, laterSmall: 1000, share: 0.5 },
  { rule: 'round-robin', small: 105, bigDone: 48, big: 550, bigAlone: 500, laterSmall: 2500, share: 0.19 },
  { rule: 'fewest-held', small: 105, bigDone: 48, big: 550, bigAlone: 500, laterSmall: 1040, share: 0.48 },
];

function figuresOf({ figures }: Simulation, later: Simulation) {
  const [big, small] = figures.updates;
  const [, laterSmall] = later.figures.updates;
  return {
    rule: figures.rule,
    small: small!.tookMs,
    bigDone: small!.othersDone.big,
    big: big!.tookMs,
    bigAlone: big!.aloneMs,
    laterSmall: laterSmall!.tookMs,
    share: laterSmall!.slotTimeShareFirstSecond,
  };
}

test('the six lines of the table hold exactly', () => {
  const { first, second } = simulateTable([]);
  expect(first.map((line, at) => figuresOf(line, second[at]!))).toEqual(TABLE);
});

test('naming a rule leaves its lines of the table only', () => {
  expect(simulateTable(['strict-priority']).first.map(({ figures }) => figures.priority)).toEqual([
    ['small', 'big'],
    ['big', 'small'],
  ]);
});

test('under every rule no slot holds two tasks at once, and each task runs once', () => {
  const { first, second } = simulateTable([]);
  for (const { replay, workload } of [...first, ...second]) {
    const tasks = workload.updates.map((_, at) => replay.holds.filter(({ update }) => update === at).length);
    expect(tasks).toEqual(workload.updates.map((update) => update.tasks));
    const freeFrom = new Map<number, number>();
    for (const { slot, startMs, endMs } of [...replay.holds].sort((a, b) => a.startMs - b.startMs)) {
      expect(startMs).toBeGreaterThanOrEqual(freeFrom.get(slot) ?? 0);
      freeFrom.set(slot, endMs);
    }
  }
});
