// `fairlead top` on a terminal, without the terminal: keys in, lines out.
import { expect, test } from 'vitest';
import { TopScreen } from '../../cli/remote/top-screen.ts';
import type { Overview } from '../../operator/api/index.ts';

interface BranchDraft {
  readonly name: string;
  readonly held?: number;
  readonly waiting?: number;
  readonly updates?: readonly BranchDraft[];
}

const DOWN = '\u001b[B';
const UP = '\u001b[A';

interface CardsDraft {
  readonly total: number;
  readonly heldMilli: number;
  readonly waiting: number;
  readonly branches: readonly {
    readonly path: readonly string[];
    readonly heldMilli: number;
    readonly waiting: number;
  }[];
}

const NO_CARDS: CardsDraft = { total: 0, heldMilli: 0, waiting: 0, branches: [] };

/** What a terminal is shown of one Pipeline with these sources. */
function overview(sources: readonly BranchDraft[], { atMs = 0, done = 0, cards = NO_CARDS } = {}): Overview {
  let number = 0;
  const branch = ({ name, held = 0, waiting = 0, updates = [] }: BranchDraft): object => ({
    ...{ number: ++number, name, weight: 1, heldSlots: held, executing: held, waiting },
    children: updates.map(branch),
  });
  const items = { done, total: 100, pending: 0, failed: 0, quarantined: 0 };
  const pipeline = {
    name: 'default/code',
    isSuspended: false,
    runners: [],
    cards,
    sources: sources.map(({ name }) => ({ name, items, checkedAtMs: atMs })),
    tree: { slots: 8, classes: [], pool: { heldSlots: 0, waiting: 0, children: sources.map(branch) } },
  };
  return { atMs, pipelines: [pipeline] } as unknown as Overview;
}

const DOCS: BranchDraft = { name: 'docs', held: 1, updates: [{ name: 'docs-1-1' }, { name: 'docs-1-2' }] };
const CODE: BranchDraft = { name: 'code', held: 5, updates: [{ name: 'code-1-1' }] };

function screenWith(...sources: readonly BranchDraft[]): TopScreen {
  const screen = new TopScreen('opened');
  screen.show(overview(sources));
  return screen;
}

/** Names of the branches, `>` before the chosen one. */
const branchesOf = (screen: TopScreen, height = 24): string[] =>
  screen
    .lines(height)
    .filter((line) => /^[> ] +\S/.test(line) && !line.startsWith('  BRANCH'))
    .map((line) => line.replace(/^([> ]) *(\S+(?: \+\d+)?).*$/, '$1$2').trim());

function press(screen: TopScreen, ...keys: readonly string[]): void {
  for (const key of keys) expect(screen.press(key)).toBe(false);
}

test('the arrows choose a branch, from top to bottom and no further', () => {
  const screen = screenWith(DOCS, CODE);
  expect(branchesOf(screen)).toEqual(['docs', 'docs-1-1', 'docs-1-2', 'code', 'code-1-1']);
  press(screen, DOWN);
  expect(branchesOf(screen)[0]).toBe('>docs');
  press(screen, DOWN, DOWN, DOWN, DOWN, DOWN, DOWN);
  expect(branchesOf(screen)[4]).toBe('>code-1-1');
  press(screen, UP);
  expect(branchesOf(screen)[3]).toBe('>code');
});

test('o closes the chosen branch, says how much is in it, and opens it again; a closes and opens all', () => {
  const screen = screenWith(DOCS, CODE);
  press(screen, DOWN, 'o');
  expect(branchesOf(screen)).toEqual(['>docs +2', 'code', 'code-1-1']);
  press(screen, 'o');
  expect(branchesOf(screen)).toHaveLength(5);
  press(screen, 'a');
  expect(branchesOf(screen)).toEqual(['>docs +2', 'code +1']);
  press(screen, 'a');
  expect(branchesOf(screen)).toHaveLength(5);
});

test('s sorts: as opened, by slots held, by runs waiting, by name; the choice stays where it was', () => {
  const screen = screenWith(DOCS, CODE);
  press(screen, 'a', DOWN, 's');
  expect(branchesOf(screen)).toEqual(['code +1', '>docs +2']);
  expect(screen.lines(24).at(-1)).toContain('sorted by held');
  press(screen, 's', 's');
  expect(branchesOf(screen)).toEqual(['code +1', '>docs +2']);
  press(screen, 's');
  expect(branchesOf(screen)).toEqual(['>docs +2', 'code +1']);
});

test('on a low terminal the chosen branch stays in sight', () => {
  const screen = screenWith(...Array.from({ length: 40 }, (_, at) => ({ name: `source-${at}` })));
  for (let at = 0; at < 30; at++) press(screen, DOWN);
  expect(screen.lines(12)).toHaveLength(12);
  expect(branchesOf(screen, 12)).toContain('>source-29');
});

test('the rate is what was done between two pictures', () => {
  const screen = new TopScreen('opened');
  screen.show(overview([DOCS], { done: 10 }));
  screen.show(overview([DOCS], { atMs: 2_000, done: 50 }));
  expect(screen.lines(24).join('\n')).toMatch(/docs .* 20\/s /);
});

test('where there are cards, each branch shows what it holds of them and how many of its calls wait for a share', () => {
  const screen = new TopScreen('opened');
  const branches = [
    { path: ['docs'], heldMilli: 1_500, waiting: 3 },
    { path: ['docs', 'docs-1-2'], heldMilli: 500, waiting: 2 },
  ];
  screen.show(overview([DOCS], { cards: { total: 2, heldMilli: 1_500, waiting: 3, branches } }));
  const text = screen.lines(24).join('\n');
  expect(text).toContain('cards 1.5/2, 3 waiting');
  expect(text).toMatch(/EXECUTING +CARDS +CALLS WAIT/);
  expect(text).toMatch(/^ +docs +1 +0 +1 +1\.5 +3 /m);
  expect(text).toMatch(/^ +docs-1-1 +0 +0 +0 +0 +0\b/m);
  expect(text).toMatch(/^ +docs-1-2 +0 +0 +0 +0\.5 +2\b/m);
  expect(screenWith(DOCS).lines(24).join('\n')).not.toContain('CARDS');
});

test.each(['q', '\u0003'])('%j ends it', (key) => {
  expect(new TopScreen('opened').press(key)).toBe(true);
});
