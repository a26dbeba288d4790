// `fairlead simulate` as a process: the table, JSON, pictures, and what it refuses.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { command } from '../support/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'fairlead-simulate-'));
afterAll(() => rmSync(folder, { recursive: true }));

const WORKLOAD = `
slots: 8
rules: [fifo, strict-priority, fixed-share, round-robin, fewest-held]
priority: [small, big]
shares: {big: 4, small: 4}
weights: {docs: 2}
updates:
  - {name: big, in: "", at: 0ms, tasks: 400, each: 10ms}
  - {name: small, in: docs/tickets, at: 5ms, tasks: 40, each: 10ms}
`;

const TABLE = `
rule                           small took    by then   big took   big alone    small took      time, first second
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
fifo                               545 ms        400     500 ms      500 ms       2500 ms                      0%
strict priority, small first        55 ms          8     550 ms      500 ms        540 ms                     50%
strict priority, big first         545 ms        400     500 ms      500 ms       2500 ms                      0%
fixed share 4 + 4                  100 ms         40    1000 ms     1000 ms       1000 ms                     50%
round-robin                        105 ms         48     550 ms      500 ms       2500 ms                     19%
fewest held first                  105 ms         48     550 ms      500 ms       1040 ms                     48%
`;

test('without an argument it prints the published table', async () => {
  const { code, stdout } = await command(['simulate']);
  expect(code).toBe(0);
  expect(stdout).toContain(TABLE);
});

test('the JSON of the published table has the first run in front and the second beside it', async () => {
  const { stdout } = await command(['simulate', '-o', 'json', '--rule', 'fifo']);
  const big = { name: 'big', in: '', finishedAtMs: 500, tookMs: 500, aloneMs: 500 };
  const small = { name: 'small', in: '', finishedAtMs: 550, tookMs: 545, aloneMs: 50 };
  expect(JSON.parse(stdout)).toMatchObject({
    slots: 8,
    results: [
      {
        rule: 'fifo',
        updates: [
          { ...big, othersDone: { small: 0 }, slotTimeShareFirstSecond: 0.91 },
          { ...small, othersDone: { big: 400 }, slotTimeShareFirstSecond: 0.09 },
        ],
      },
    ],
    secondRun: { slots: 8, results: [{ rule: 'fifo', updates: [{ tookMs: 2000 }, { tookMs: 2500 }] }] },
  });
});

test('a workload comes from a file or from standard input', async () => {
  const file = join(folder, 'workload.yaml');
  writeFileSync(file, WORKLOAD);
  const fromFile = await command(['simulate', '-f', file, '-o', 'json']);
  const fromInput = await command(['simulate', '-f', '-', '-o', 'json'], { input: WORKLOAD });
  expect(fromFile.stdout).toBe(fromInput.stdout);
  const { results } = JSON.parse(fromFile.stdout) as { results: { rule: string; updates: { tookMs: number }[] }[] };
  expect(results.map(({ rule, updates }) => [rule, updates[0]!.tookMs, updates[1]!.tookMs])).toEqual([
    ['fifo', 500, 545],
    ['strict-priority', 550, 55],
    ['fixed-share', 1000, 100],
    ['round-robin', 550, 105],
    ['fewest-held', 550, 85],
  ]);
});

test('--rule replays those rules only, in the order given', async () => {
  const args = ['simulate', '-f', '-', '-o', 'json', '--rule', 'fewest-held', '--rule', 'fifo'];
  const { stdout } = await command(args, { input: WORKLOAD });
  const { results } = JSON.parse(stdout) as { results: { rule: string }[] };
  expect(results.map(({ rule }) => rule)).toEqual(['fewest-held', 'fifo']);
});

/** Elements that are opened must be closed, in order, and text must be escaped. */
function expectWellFormed(svg: string): void {
  const open: string[] = [];
  for (const [, close, name, selfClosed] of svg.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (close === '/') expect(open.pop()).toBe(name);
    else if (selfClosed === '') open.push(name!);
  }
  expect(open).toEqual([]);
  expect(svg.replaceAll(/<[^<>]*>/g, '')).not.toMatch(/[<>]|&(?!amp;|lt;|gt;|quot;)/);
}

test('--svg draws a row for each slot and a bar for each task of each rule', async () => {
  const file = join(folder, 'picture.svg');
  const { code } = await command(['simulate', '-f', '-', '--svg', file], { input: WORKLOAD });
  expect(code).toBe(0);
  const svg = readFileSync(file, 'utf8');
  expectWellFormed(svg);
  expect(svg.match(/class="row"/g)).toHaveLength(5 * 8);
  const panels = svg.split('<g aria-label').slice(1);
  for (const panel of panels.filter((text) => !text.includes('fixed share')))
    expect(panel.match(/<rect [^>]*fill="var\(--c\d\)"/g)!.length).toBeGreaterThan(100);
  expect(svg).toContain('prefers-color-scheme:dark');
  expect(svg).toContain('small done, took 85 ms');
});

test('a faulty workload exits with 1 and names file and field on standard error', async () => {
  const { code, stdout, stderr } = await command(['simulate', '-f', '-'], {
    input: 'slots: 8\nupdates: [{name: a, task: 1, each: 1ms}]',
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe('standard input: updates[0].task: unknown field; did you mean tasks?\n');
});

test('a file that is not there, a rule that does not exist, and options that would do nothing are refused with their names', async () => {
  const missing = await command(['simulate', '-f', join(folder, 'none.yaml')]);
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain('none.yaml: cannot be read');
  const slots = await command(['simulate', '--slots', '3']);
  expect(slots).toMatchObject({ code: 64, stderr: expect.stringContaining('--slots and --weight go with --replay') });
  const rule = await command(['simulate', '--rule', 'lottery']);
  expect(rule.code).toBe(64);
  expect(rule.stderr).toContain('no rule is named lottery; there are fifo, strict-priority');
});

test('a picture of more slots than a reader can tell apart is refused', async () => {
  const input = 'slots: 1000\nupdates: [{name: a, tasks: 1, each: 1ms}]';
  const { code, stderr } = await command(['simulate', '-f', '-', '--svg', join(folder, 'no.svg')], { input });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '--svg: 1000 slots are more than a picture can show (256)\n' });
});
