// Workloads with cards: exact figures on the virtual clock, what is refused, and the picture's rows of cards.
import { expect, test } from 'vitest';
import {
  panels,
  parseWorkload,
  picture,
  printFigures,
  resultsOf,
  simulateAll,
  WorkloadError,
} from '../../cli/simulate/index.ts';

const WORKLOAD = `
slots: 64
cards: 8
updates:
  - {name: big, in: code, tasks: 400, each: 10ms, gpu: 500m}
  - {name: small, in: docs, at: 5ms, tasks: 40, each: 10ms, gpu: 500m}
`;

const simulated = (text = WORKLOAD) => simulateAll(parseWorkload(text, 'workload.yaml'), []);

test('a small refresh beside a re-index on eight cards: fewest held first is done after 55 ms, first come after 275 ms', () => {
  const took = simulated().map(({ figures: { rule, updates } }) => [rule, ...updates.map(({ tookMs }) => tookMs)]);
  expect(took).toEqual([
    ['fifo', 250, 275],
    ['round-robin', 280, 65],
    ['fewest-held', 280, 55],
  ]);
});

test('no card is ever overdrawn, and sixteen halves run at once on eight cards', () => {
  for (const { replay } of simulated()) {
    const instants = replay.cardHolds.flatMap(({ startMs }) => startMs);
    for (const ms of new Set(instants)) {
      const used = new Map<number, number>();
      for (const { cards, milli, startMs, endMs } of replay.cardHolds)
        if (startMs <= ms && ms < endMs) for (const card of cards) used.set(card, (used.get(card) ?? 0) + milli);
      expect(Math.max(...used.values()), `at ${ms} ms`).toBeLessThanOrEqual(1_000);
    }
    expect(replay.cardHolds.filter(({ startMs }) => startMs === 0)).toHaveLength(16);
  }
});

test('a whole card beside a stream of fractions is served within its bound, and holds its slot while it waits', () => {
  const [simulation] = simulated(`
slots: 8
cards: 1
rules: [fewest-held]
updates:
  - {name: stream, tasks: 60, each: 10ms, gpu: 400m}
  - {name: whole, at: 1ms, tasks: 1, each: 10ms, gpu: 1}
`);
  const [, whole] = simulation!.figures.updates;
  // Two tasks at a time: six that asked before it, eight that may pass it, and the last ones before the card is empty.
  expect(whole!.cardWaitMaxMs).toBeLessThanOrEqual(10 * (6 / 2 + 8 / 2 + 1));
  const hold = simulation!.replay.holds.find(({ update }) => update === 1)!;
  expect(hold.endMs - hold.startMs).toBe(whole!.cardWaitMaxMs! + 10);
});

test('the table and the JSON show shares of card time and the longest wait for a card', () => {
  const [fifo] = simulated();
  expect(printFigures([fifo!])).toContain('share of card   longest wait');
  expect(printFigures([fifo!])).toContain('64 slots; 8 cards; big in code 400 × 10 ms with 500m at 0 ms');
  const { cards, results } = JSON.parse(JSON.stringify(resultsOf([fifo!])));
  expect(cards).toBe(8);
  expect(results[0].updates[1]).toMatchObject({ name: 'small', cardTimeShareFirstSecond: 0.09, cardWaitMaxMs: 30 });
});

test('a workload without cards shows nothing of them', () => {
  const [simulation] = simulated('slots: 2\nupdates: [{name: a, tasks: 2, each: 5ms}]');
  expect(JSON.stringify(resultsOf([simulation!]))).not.toMatch(/card/i);
  expect(printFigures([simulation!])).not.toContain('card');
});

test('the picture has a row for each card below those of the slots', () => {
  const drawn = picture(panels(simulated().slice(0, 1)));
  expect(drawn).toContain('one row per slot, then per card');
  expect(drawn.match(/class="row"/g)).toHaveLength(64 + 8);
});

test.for([
  [
    'gpu: 1500m',
    'updates[0].gpu: must be a share below one card such as 500m, or a whole number of cards such as 2, not "1500m"',
  ],
  [
    'gpu: 0',
    'updates[0].gpu: must be a share below one card such as 500m, or a whole number of cards such as 2, not 0',
  ],
  ['gpu: 9', 'updates[0].gpu: asks for 9 cards, and there are 8'],
])('%s is refused with the field', ([gpu, message]) => {
  const text = `slots: 1\ncards: 8\nupdates: [{name: a, tasks: 1, each: 1ms, ${gpu}}]`;
  expect(() => parseWorkload(text, 'w')).toThrow(new WorkloadError(`w: ${message}`));
});

test('tasks with gpu need cards', () => {
  expect(() => parseWorkload('slots: 1\nupdates: [{name: a, tasks: 1, each: 1ms, gpu: 500m}]', 'w')).toThrow(
    'updates[0].gpu: needs cards, the number of cards that there are',
  );
});
