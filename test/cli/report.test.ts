// What `fairlead dev` says: bars on a terminal, plain lines elsewhere, JSON lines for programs.
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { answersOf, answersText } from '../../cli/local/answers.ts';
import { DataReport, jsonLine, yamlDocument } from '../../cli/local/data-report.ts';
import { PlainReport } from '../../cli/local/plain-report.ts';
import { Rate } from '../../cli/local/rate.ts';
import { countsText, durationText, type EndedUpdate, endedText, type SourceState } from '../../cli/local/report.ts';
import { bar, TerminalReport } from '../../cli/local/terminal-report.ts';
import { NO_COUNTS } from '../../runner/protocol/index.ts';

function streams() {
  const written = { out: '', err: '' };
  return {
    written,
    out(text: string): void {
      written.out += text;
    },
    err(text: string): void {
      written.err += text;
    },
    columns: () => 120,
    isAscii: false,
  };
}

const state = (done: number, total: number, listed = true): SourceState => ({
  source: 'repo',
  progress: { listed, total, done, counts: NO_COUNTS },
  held: 8,
  waiting: 92,
  runs: [],
});

const ended: EndedUpdate = {
  name: 'repo-1',
  pipeline: 'index',
  kind: 'cycle',
  source: 'repo',
  trigger: 'once',
  result: 'CompletedWithErrors',
  counts: { unchanged: 1_200, added: 3, reprocessed: 0, deleted: 1, failed: 2, superseded: 0 },
  durationMs: 4_230,
};

test('the end of an update prints every count', () => {
  expect(endedText(ended)).toBe(
    'repo: CompletedWithErrors in 4.2 s: 1,200 unchanged, 3 added, 0 reprocessed, 1 deleted, 2 failed',
  );
  expect(countsText({ ...NO_COUNTS, superseded: 4 })).toContain('4 superseded');
});

test('the time left is said from the tenth observation on, and only once the listing ended', () => {
  const rate = new Rate();
  for (let second = 0; second < 9; second++) rate.add(second * 1_000, second * 50);
  expect(rate.leftMs(500)).toBeUndefined();
  rate.add(9_000, 450);
  expect(rate.perSecond()).toBe(50);
  expect(rate.leftMs(500)).toBe(10_000);
});

test('the rate follows what was seen lately, not the whole run', () => {
  const rate = new Rate();
  for (let second = 0; second <= 60; second++)
    rate.add(second * 1_000, second < 40 ? second * 100 : 4_000 + (second - 40));
  expect(rate.perSecond()).toBeCloseTo(1, 5);
});

test('a terminal shows one line for each source, redrawn in place, with a tilde while the listing is open', () => {
  const terminal = streams();
  const report = new TerminalReport(terminal);
  report.progress([state(10, 100, false)], 0);
  expect(terminal.written.err).toContain('10 of ~100');
  expect(terminal.written.err).toContain('8 held, 92 waiting');
  terminal.written.err = '';
  report.progress([state(20, 100)], 1_000);
  expect(terminal.written.err.startsWith('\u001b[1A\u001b[0J')).toBe(true);
  expect(terminal.written.err).toContain('10/s');
  expect(terminal.written.err).toContain('20 of 100');
});

test('an ending takes the progress off the screen and stays itself', () => {
  const terminal = streams();
  const report = new TerminalReport(terminal);
  report.progress([state(10, 100)], 0);
  report.ended(ended);
  expect(terminal.written.err.endsWith('\u001b[1A\u001b[0J')).toBe(true);
  expect(terminal.written.out).toContain('1,200 unchanged');
});

test('a line of progress never wraps on a narrow terminal', () => {
  const terminal = { ...streams(), columns: () => 40 };
  new TerminalReport(terminal).progress([state(10, 100)], 0);
  const lines = stripVTControlCharacters(terminal.written.err).trimEnd().split('\n');
  for (const line of lines) expect([...line].length).toBeLessThan(40);
});

test('bars are drawn in eighths, or in plain characters where the terminal has no others', () => {
  expect(bar(0.5, 4, false)).toBe('██░░');
  expect(bar(0.53125, 4, false)).toBe('██▏░');
  expect(bar(1, 4, false)).toBe('████');
  expect(bar(0.5, 4, true)).toBe('##..');
});

test('plain lines come at most every five seconds for a source', () => {
  const plain = streams();
  const report = new PlainReport(plain);
  for (let ms = 0; ms <= 20_000; ms += 250) report.progress([state(ms / 100, 1_000)], ms);
  expect(plain.written.err.trimEnd().split('\n')).toHaveLength(4);
  expect(plain.written.err).toContain('repo: 50 of 1,000, 10/s, 1 min 35 s left, 8 slots held, 92 waiting');
});

test('JSON is one object a line, with the update whole', () => {
  const json = streams();
  const report = new DataReport(json, jsonLine);
  report.progress([state(10, 100)], 0);
  report.ended(ended);
  const lines = json.written.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(lines[0]).toEqual({
    event: 'progress',
    source: 'repo',
    listed: true,
    total: 100,
    done: 10,
    counts: NO_COUNTS,
    slots: { held: 8, waiting: 92 },
  });
  expect(lines[1]).toEqual({ event: 'update', ...ended });
});

test('YAML is one document each', () => {
  const yaml = streams();
  const report = new DataReport(yaml, yamlDocument);
  report.progress([state(10, 100)], 0);
  report.ended(ended);
  const documents = parseAllDocuments(yaml.written.out).map((document) => document.toJS() as object);
  expect(documents).toMatchObject([
    { event: 'progress', total: 100 },
    { event: 'update', ...ended },
  ]);
});

test('times are said as people say them', () => {
  expect([320, 4_230, 185_000, 7_800_000].map(durationText)).toEqual(['320 ms', '4.2 s', '3 min 5 s', '2 h 10 min']);
});

test('names and text of items cannot move the cursor or change the terminal', () => {
  const hit = {
    source: 'repo',
    key: 'a\u001B]0;title\u0007\n.md',
    score: 1,
    element: { text: 'one\u001B[2Jtwo\n\tthree' },
  };
  const text = answersText(answersOf([hit], 'index'), false);
  expect(text).toMatch(/1\. a\uFFFD\]0;title\uFFFD\uFFFD\.md/);
  expect(text).toMatch(/one\uFFFD\[2Jtwo\n {5}three\n$/);
  const to = streams();
  new PlainReport(to).failed({ source: 'repo', key: 'b\n.md', message: 'said \u001B[31mred' });
  expect(to.written.err).toBe('repo: b\uFFFD.md: said \uFFFD[31mred\n');
});
