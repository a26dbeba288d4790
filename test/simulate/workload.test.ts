// Workload files: what is refused, with the field's name, and what nested paths, weights and lending do.
import { expect, test } from 'vitest';
import { parseWorkload, simulateAll, WorkloadError } from '../../cli/simulate/index.ts';

const BASE =
  'slots: 8\nupdates:\n  - {name: big, tasks: 400, each: 10ms}\n  - {name: small, at: 5ms, tasks: 40, each: 10ms}\n';

const refused = {
  'a misspelt field': { text: `${BASE}slot: 4`, want: /file\.yaml: slot: unknown field; did you mean slots/ },
  'a count that is no number': {
    text: 'slots: 8\nupdates: [{name: a, tasks: many, each: 1ms}]',
    want: /updates\[0\]\.tasks: must be a whole number, not "many"/,
  },
  'no slots': { text: 'slots: 0\nupdates: [{name: a, tasks: 1, each: 1ms}]', want: /^file\.yaml: slots: / },
  'no updates': { text: 'slots: 1\nupdates: []', want: /^file\.yaml: updates: must have at least 1 item, not 0$/ },
  'a length without a unit': {
    text: 'slots: 1\nupdates: [{name: a, tasks: 1, each: 10}]',
    want: /updates\[0\]\.each: must be a duration such as 5ms, 2s or 1m30s, not 10/,
  },
  'a length of nothing': {
    text: 'slots: 1\nupdates: [{name: a, tasks: 1, each: 0ms}]',
    want: /updates\[0\]\.each: must be at least 1ms/,
  },
  'an unknown rule': {
    text: `${BASE}rules: [lottery]`,
    want: /rules\[0\]: must be one of fifo, .*fewest-held, not "lottery"/,
  },
  'two updates of one name': {
    text: 'slots: 1\nupdates: [{name: a, tasks: 1, each: 1ms}, {name: a, tasks: 1, each: 1ms}]',
    want: /updates\[1\]\.name: updates\[0\] is named a too/,
  },
  'strict priority without an order': {
    text: `${BASE}rules: [strict-priority]`,
    want: /priority: strict-priority needs/,
  },
  'an order that leaves an update out': {
    text: `${BASE}priority: [big]`,
    want: /priority: the update small is missing/,
  },
  'fixed shares that are more than the slots': {
    text: `${BASE}shares: {big: 8, small: 1}`,
    want: /shares: they add up to 9, but there are 8 slots/,
  },
  'a weight on a branch that is not there': {
    text: `${BASE}weights: {docs: 2}`,
    want: /weights\.docs: no live source has this path; all updates/,
  },
  'a path with an empty part': {
    text: 'slots: 1\nupdates: [{name: a, in: a//b, tasks: 1, each: 1ms}]',
    want: /updates\[0\]\.in: must be a path/,
  },
  'text that is no YAML': { text: 'slots: [', want: /^file\.yaml: / },
};

for (const [claim, { text, want }] of Object.entries(refused))
  test(`refused with the field's name: ${claim}`, () => {
    expect(() => parseWorkload(text, 'file.yaml')).toThrow(WorkloadError);
    expect(() => parseWorkload(text, 'file.yaml')).toThrow(want);
  });

const UPDATE = 'name: a, tasks: 1, each: 1ms';
const one = (update: string, rest = '') => `slots: 8\n${rest}\nupdates: [{${update}}]`;

/** By field as the message has to name it: a workload in which it alone is wrong. */
const wrongFields: Readonly<Record<string, readonly string[]>> = {
  slots: [
    one(UPDATE).replace('slots: 8', 'slots: 1.5'),
    one(UPDATE).replace('slots: 8', 'slots: 10001'),
    `updates: [{${UPDATE}}]`,
  ],
  cards: [one(UPDATE, 'cards: 0'), one(UPDATE, 'cards: many')],
  rules: [one(UPDATE, 'rules: []'), one(UPDATE, 'rules: fifo')],
  priority: [one(UPDATE, 'priority: a'), one(UPDATE, 'priority: []')],
  'priority[0]': [one(UPDATE, 'priority: [b, a]'), one(UPDATE, 'priority: [7, a]')],
  'priority[1]': [one(UPDATE, 'priority: [a, a]')],
  shares: [
    one(UPDATE, 'rules: [fixed-share]'),
    one(UPDATE, 'shares: {}'),
    one(UPDATE, 'shares: {a: 9}'),
    one(UPDATE, 'shares: 4'),
  ],
  'shares.a': [one(UPDATE, 'shares: {a: 0}'), one(UPDATE, 'shares: {a: half}')],
  'shares.b': [one(UPDATE, 'shares: {a: 4, b: 4}')],
  weights: [one(UPDATE, 'weights: 2')],
  'weights.docs': [
    one(`${UPDATE}, in: docs`, 'weights: {docs: 0}'),
    one(`${UPDATE}, in: docs`, 'weights: {docs: 1001}'),
  ],
  lending: [one(UPDATE, 'lending: sometimes')],
  updates: ['slots: 8', 'slots: 8\nupdates: []', `slots: 8\nupdates: {${UPDATE}}`],
  'updates[0].name': [one('tasks: 1, each: 1ms'), one('name: a b, tasks: 1, each: 1ms')],
  'updates[0].in': [one(`${UPDATE}, in: 7`), one(`${UPDATE}, in: /docs`)],
  'updates[0].at': [one(`${UPDATE}, at: soon`), one(`${UPDATE}, at: -5ms`)],
  'updates[0].tasks': [
    one('name: a, each: 1ms'),
    one('name: a, tasks: 0, each: 1ms'),
    one('name: a, tasks: 1000001, each: 1ms'),
  ],
  'updates[0].each': [one('name: a, tasks: 1'), one('name: a, tasks: 1, each: 1 minute')],
};

for (const [field, texts] of Object.entries(wrongFields))
  test(`whatever is wrong with ${field}, a message names it`, () => {
    for (const text of texts) {
      const fault = faultOf(text);
      expect(
        fault.split('\n').map((line) => line.split(': ')[1]),
        text,
      ).toContain(field);
    }
  });

function faultOf(text: string): string {
  try {
    parseWorkload(text, 'file.yaml');
  } catch (error) {
    if (error instanceof WorkloadError) return error.message;
    throw error;
  }
  return 'nothing is refused';
}

test('all faults are named at once', () => {
  expect(faultOf('slots: 0\nupdates: [{name: a, tasks: 0, each: 0ms}]').split('\n')).toHaveLength(3);
});

test('updates of more than a million tasks together are refused', () => {
  const updates = ['a', 'b'].map((name) => `{name: ${name}, tasks: 600000, each: 1ms}`);
  expect(faultOf(`slots: 8\nupdates: [${updates}]`)).toBe(
    'file.yaml: updates: 1200000 tasks in all, more than 1000000',
  );
});

test('without rules, those that need no extra field are replayed', () => {
  const rules = simulateAll(parseWorkload(BASE, 'f'), []).map(({ figures }) => figures.rule);
  expect(rules).toEqual(['fifo', 'round-robin', 'fewest-held']);
});

const tookMs = (text: string, rule: 'fewest-held' | 'fixed-share' = 'fewest-held') =>
  Object.fromEntries(
    simulateAll(parseWorkload(text, 'f'), [rule])[0]!.figures.updates.map((update) => [update.name, update.tookMs]),
  );

test('a live source counts as one branch: its two updates share half of the pool, and the third update has the other half', () => {
  const took = tookMs(
    `slots: 8\nupdates:
  - {name: a, in: docs, tasks: 40, each: 10ms}
  - {name: b, in: docs, tasks: 40, each: 10ms}
  - {name: c, tasks: 80, each: 10ms}`,
  );
  expect(took).toEqual({ a: 170, b: 190, c: 200 });
});

test('a weight of three gives a live source three quarters of the slots (A11)', () => {
  const text = (weights: string) =>
    `slots: 8\n${weights}\nupdates:\n  - {name: a, in: docs, tasks: 60, each: 10ms}\n  - {name: b, in: code, tasks: 60, each: 10ms}`;
  expect(tookMs(text('weights: {docs: 3}')).a).toBe(100);
  expect(tookMs(text('weights: {}')).a).toBe(140);
});

test('with lending, an update of any size completes on one slot (A7)', () => {
  const took = tookMs('slots: 1\nlending: true\nupdates: [{name: a, in: docs/tickets, tasks: 20, each: 10ms}]');
  expect(took).toEqual({ a: 200 });
});

test('with lending, an update whose fixed share is one slot completes on its loan (A7)', () => {
  const text = 'slots: 8\nshares: {a: 1}\nlending: true\nupdates: [{name: a, tasks: 20, each: 10ms}]';
  expect(tookMs(text, 'fixed-share')).toEqual({ a: 200 });
});

test('with lending, an update alone still has all the slots', () => {
  expect(tookMs('slots: 8\nlending: true\nupdates: [{name: a, tasks: 80, each: 10ms}]')).toEqual({ a: 100 });
});
