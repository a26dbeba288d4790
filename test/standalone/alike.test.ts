// The same objects and the same story, in one process and through operator and runners: rows and counts are the same after every step.
// Real processes, real TLS, a real repository, both stores.
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { Action } from '../../operator/api/index.ts';
import { eventually } from '../support/eventually.ts';
import { testPostgres } from '../support/postgres.ts';
import { type Counted, type Most, type Rows, Way, type WayOptions } from './ways.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const postgres = await testPostgres('the same through operator and runners, on Postgres');

const OPERATOR = ['operator', '--standalone', '--dir', '.fairlead/operator', '--port', '0'];
const IN_ONE_PROCESS: WayOptions = {
  args: ['dev', '--watch'],
  cycles: 'alone',
  heard: /stopping: what runs is finished first/,
};
const WAYS: Readonly<Record<string, WayOptions | undefined>> = {
  'an operator and one runner, on SQLite': {
    args: [...OPERATOR, '--start-runners', '1'],
    cycles: 'asked',
    heard: /SIGTERM: what runs may end/,
  },
  'an operator and two runners, on Postgres': postgres && {
    args: [...OPERATOR, '--start-runners', '2'],
    cycles: 'asked',
    heard: /(SIGTERM: what runs may end.*){2}/s,
    postgresUrl: postgres.url,
  },
};

const MODULE = `import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, watch } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { batched, declareRow, liveView, map, memo, mountEach, mountEachLive, StepError, useMount } from 'fairlead/sdk';

const lengthOf = memo((text) => text.length, { name: 'length', version: '1' });
const raised = batched(async (texts) => texts.map((text) => text.toUpperCase()));

/** Nobody goes on before two are at it, and each stays for a while, so that a third one would be seen. */
const crowd = join(import.meta.dirname, 'crowd');
const among = async (what, weight) => {
  appendFileSync(crowd, \`\${what} \${weight}\\n\`);
  while (readFileSync(crowd, 'utf8').split(\`\${what} \${weight}\`).length <= 2) await setTimeout(10);
  await setTimeout(50);
  appendFileSync(crowd, \`\${what} -\${weight}\\n\`);
};
/** Stays until nobody holds it. */
const stay = async () => {
  writeFileSync(join(import.meta.dirname, 'stays'), '');
  while (existsSync(join(import.meta.dirname, 'held'))) await setTimeout(10);
};

export const count = (found) => found.length;
export const lines = async (elements) => {
  const text = elements.map((element) => element.text ?? '').join('\\n');
  if (text.startsWith('HEAVY')) await among('bytes', text.length);
  if (text.startsWith('STAYS')) await stay();
  const flaky = join(import.meta.dirname, 'flaky');
  if (text.includes('FAIL')) throw new StepError('invalid', 'it says FAIL');
  if (text.includes('FLAKY') && existsSync(flaky)) {
    rmSync(flaky);
    throw new StepError('transient', 'not this time');
  }
  const found = text.split('\\n').filter((line) => line !== '' && !line.startsWith('- '));
  const of = \`of \${await useMount(count, 'count', found)}\`;
  return map(found, async (line) => ({ text: \`\${await raised(line)} \${await lengthOf(line)} \${of}\` }));
};
export const row = async (elements) => {
  if (elements[0]?.text.startsWith('CROWD')) await among('rows', 1);
  return elements;
};

export const tasks = async (elements) => {
  const found = elements.flatMap(({ text = '' }) => [...text.matchAll(/^- (.+)$/gm)].map(([, what]) => what));
  await mountEach(task, [...new Set(found)].map((what) => [what, { what }]), { memo: true });
  return elements;
};
export const task = ({ what }) => declareRow('tasks', { text: what });

export const board = async (elements, { item }) => {
  if (!item.key.endsWith('.board')) return elements;
  await mountEachLive(berth, 'berths', berths, {});
  return [];
};
const list = join(import.meta.dirname, 'berths.csv');
export const berths = liveView({
  async *scan() {
    for (const line of (await readFile(list, 'utf8')).split('\\n').filter((one) => one !== ''))
      yield [line.split(',')[0], line];
  },
  async *watch(_, { signal }) {
    const events = watch(list, { signal });
    yield [];
    for await (const _ of events) yield [{ rescan: true }];
  },
});
export const berth = (text) => declareRow('berths', { text });
`;

const PROGRAM = `import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, elements } = JSON.parse(line);
  console.log(JSON.stringify({ id, elements: elements.map((one) => ({ ...one, text: \`<\${one.text}>\` })) }));
});
`;

/** Rows of one item that may be in flight. */
const ROWS_MAX = 2;
/** Of 1 KiB that a source may have in flight: two fit, three do not. */
const HEAVY = 'HEAVY'.padEnd(400, '.');

const OBJECTS: Parameters<Way['start']>[0] = ({ state, target }) => `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: alike}
spec:
  maxInflightComponents: 6
  state: {${state}}
  runners: [{name: default, slots: 4}]
  limits: {maxInflightRows: 64, maxInflightBytes: 1Mi}
  component:
    steps:
      - read: {}
      - module: {path: module.mjs, entry: board}
      - module: {path: module.mjs, entry: tasks}
      - module: {path: module.mjs, entry: lines}
      - forEach:
          limits: {maxInflightRows: ${ROWS_MAX}}
          steps:
            - module: {path: module.mjs, entry: row}
            - exec: {command: [node, program.mjs], version: "1"}
            - export: {target: parts}
      - export: {target: lines}
  targets:
    - {name: lines, ${target('lines')}}
    - {name: parts, ${target('parts')}}
    - {name: tasks, ${target('tasks')}}
    - {name: berths, ${target('berths')}}
${['docs: {directory: {path: docs}}', 'watched: {directory: {path: watched}}', 'repository: {git: {url: ./repository}}']
  .map(
    (source) => `---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: ${source.split(':')[0]}}
spec:
  pipelineRef: {name: alike}
  source: ${source.slice(source.indexOf(':') + 1)}
  ${source.startsWith('watched') ? 'mode: Watch' : 'interval: 1h'}
  limits: {maxInflightRows: 16, maxInflightBytes: 1Ki}
  deleteGuard: {maxPercent: 50, minItems: 2}
`,
  )
  .join('')}`;

/** A line is a row of its item, with its length and the number of lines, and one of a component of its own that a program has seen. */
const rowsOf = (item: string, text: string): Rows => [`lines ${item} ${text}`, `parts ${item} <${text}>`];

interface Step {
  readonly change?: (way: Way) => void;
  /** A cycle that is asked for; absent: what happens without. */
  readonly cycle?: Omit<Action, 'source'> & { readonly of: string };
  /** Or the live source that is doing something when all processes are told twice to end. They begin anew. */
  readonly cutShort?: string;
  /** Of the cycle. */
  readonly wantCounts?: Partial<Counted>;
  /** Some of the rows then; where no cycle is asked for, whose end could be seen, all that are new: rows of one item do not come at one instant. */
  readonly wantRows: Rows;
  readonly wantGone?: Rows;
  /** How much of what was in flight at once, at the most. */
  readonly wantMost?: Most;
}

const STORY: Readonly<Record<string, Step>> = {
  'at first everything is indexed: a module, its nested runs, a program, live mounts, a repository': {
    wantRows: [
      'berths docs/harbour.board north,free',
      'tasks docs/a.md splice the rope',
      ...rowsOf('docs/a.md', 'ONE 3 of 1'),
      ...rowsOf('docs/b.md', 'TWO 3 of 1'),
      ...rowsOf('docs/c.md', 'THREE 5 of 1'),
      ...rowsOf('docs/d.md', 'FOUR 4 of 1'),
      ...rowsOf('repository/code.md', 'ANCHOR 6 of 1'),
      ...rowsOf('watched/w.md', 'SEEN 4 of 1'),
    ],
  },
  'a file that is saved in a watched folder is an update of its own': {
    change: (way) => way.write('watched/w.md', 'seen again\n'),
    wantRows: rowsOf('watched/w.md', 'SEEN AGAIN 10 of 1'),
    wantGone: rowsOf('watched/w.md', 'SEEN 4 of 1'),
  },
  'what a live mount watches is followed': {
    change: (way) => way.write('berths.csv', 'north,the yawl Tern\nsouth,free\n'),
    wantRows: ['berths docs/harbour.board north,the yawl Tern', 'berths docs/harbour.board south,free'],
    wantGone: ['berths docs/harbour.board north,free'],
  },
  'a commit is found by the next cycle, and only what it changed is done': {
    change: (way) => {
      way.write('repository/code.md', 'anchor and chain\n');
      way.write('repository/new.md', 'new\n');
      way.commit('repository');
    },
    cycle: { of: 'repository', action: 'refresh' },
    wantCounts: { added: 1, reprocessed: 1 },
    wantRows: ['parts repository/code.md <ANCHOR AND CHAIN 16 of 1>', 'parts repository/new.md <NEW 3 of 1>'],
  },
  'an item that fails keeps its rows and stops no other': {
    change: (way) => {
      way.write('docs/a.md', 'FAIL\n');
      way.write('docs/b.md', 'two\ntwo more\n');
    },
    cycle: { of: 'docs', action: 'refresh' },
    wantCounts: { reprocessed: 1, failed: 1 },
    wantRows: ['parts docs/a.md <ONE 3 of 1>', 'parts docs/b.md <TWO MORE 8 of 2>', 'tasks docs/a.md splice the rope'],
  },
  'once it is repaired it is done by the next cycle; a task that left takes its row along': {
    change: (way) => way.write('docs/a.md', 'one\nrepaired\n'),
    cycle: { of: 'docs', action: 'refresh' },
    wantCounts: { reprocessed: 1 },
    wantRows: ['parts docs/a.md <REPAIRED 8 of 2>'],
    wantGone: ['tasks docs/a.md splice the rope'],
  },
  'an attempt that fails for a while is made again': {
    change: (way) => {
      way.write('flaky', '');
      way.write('docs/c.md', 'FLAKY\n');
    },
    cycle: { of: 'docs', action: 'refresh' },
    wantCounts: { reprocessed: 1, failed: 0 },
    wantRows: ['parts docs/c.md <FLAKY 5 of 1>'],
  },
  'a cycle that would delete too much deletes nothing, and does the rest': {
    change: (way) => {
      for (const name of ['a.md', 'b.md', 'c.md']) way.remove(`docs/${name}`);
      way.write('docs/d.md', 'four\nand more\n');
    },
    cycle: { of: 'docs', action: 'refresh' },
    wantCounts: { reprocessed: 1, deleted: 0 },
    wantRows: ['parts docs/c.md <FLAKY 5 of 1>', 'parts docs/d.md <AND MORE 8 of 2>'],
  },
  'with consent it deletes': {
    cycle: { of: 'docs', action: 'refresh', allowDeletes: true },
    wantCounts: { deleted: 3 },
    wantRows: ['parts docs/d.md <AND MORE 8 of 2>'],
    wantGone: [
      'parts docs/a.md <REPAIRED 8 of 2>',
      'parts docs/b.md <TWO MORE 8 of 2>',
      'parts docs/c.md <FLAKY 5 of 1>',
    ],
  },
  'reprocess does every item anew and changes no row': {
    cycle: { of: 'repository', action: 'reprocess' },
    wantCounts: { reprocessed: 2 },
    wantRows: ['parts repository/code.md <ANCHOR AND CHAIN 16 of 1>'],
  },
  'a forEach has as many rows in flight as it may, and never more': {
    change: (way) => way.write('docs/crowd.md', 'crowd a\ncrowd b\ncrowd c\ncrowd d\n'),
    cycle: { of: 'docs', action: 'refresh' },
    wantCounts: { added: 1 },
    wantRows: ['parts docs/crowd.md <CROWD D 7 of 4>'],
    wantMost: { rows: ROWS_MAX },
  },
  'a source has as many bytes in flight as it may, and never more': {
    change: (way) => {
      for (const name of ['a', 'b', 'c', 'd']) way.write(`docs/heavy-${name}.md`, HEAVY);
    },
    cycle: { of: 'docs', action: 'refresh' },
    wantCounts: { added: 4 },
    wantRows: rowsOf('docs/heavy-d.md', `${HEAVY} ${HEAVY.length} of 1`),
    wantMost: { rows: ROWS_MAX, bytes: 2 * HEAVY.length },
  },
  'what is cut short, because all are told twice to end, is done after the next start': {
    change: (way) => way.write('docs/d.md', 'STAYS\n'),
    cutShort: 'docs',
    wantRows: rowsOf('docs/d.md', 'STAYS 5 of 1'),
    wantGone: [...rowsOf('docs/d.md', 'FOUR 4 of 2'), ...rowsOf('docs/d.md', 'AND MORE 8 of 2')],
  },
};

type Told = Readonly<Record<string, { readonly rows: Rows; readonly counts?: Counted; readonly most: Most }>>;

/** Plays the story and answers what there was after each step. */
async function play(options: WayOptions): Promise<Told> {
  const way = new Way(options);
  way.write('module.mjs', MODULE);
  way.write('program.mjs', PROGRAM);
  way.write('berths.csv', 'north,free\n');
  way.write('docs/harbour.board', 'a board\n');
  for (const [name, text] of Object.entries({ a: 'one\n- splice the rope', b: 'two', c: 'three', d: 'four' }))
    way.write(`docs/${name}.md`, `${text}\n`);
  way.write('watched/w.md', 'seen\n');
  way.write('repository/code.md', 'anchor\n');
  way.commit('repository');
  const told: Record<string, Told[string]> = {};
  try {
    await way.start(OBJECTS);
    let rows: Rows = [];
    for (const [sentence, step] of Object.entries(STORY)) {
      const seen = await playStep(way, sentence, step, rows);
      told[sentence] = seen;
      rows = seen.rows;
    }
  } finally {
    await way.stop();
  }
  return told;
}

async function playStep(way: Way, sentence: string, step: Step, before: Rows): Promise<Told[string]> {
  const { change, cycle, cutShort, wantRows, wantGone = [] } = step;
  const changed = () => change?.(way);
  const counts = cycle && (await way.cycle(cycle.of, cycle, changed));
  if (cutShort !== undefined) await way.cutShort(cutShort, changed);
  else if (cycle === undefined) changed();
  const all = [...new Set([...before.filter((row) => !wantGone.includes(row)), ...wantRows])].sort();
  const isThere = (seen: Rows) =>
    wantRows.every((row) => seen.includes(row)) && !wantGone.some((row) => seen.includes(row));
  const isDone = cycle === undefined ? (seen: Rows) => isDeepStrictEqual([...seen].sort(), all) : isThere;
  const rows = await eventually(() => way.rows(), isDone, `${sentence}: the rows`);
  return { rows, ...(counts !== undefined && { counts }), most: way.most() };
}

describe('a story of one Pipeline and three live sources', () => {
  let inOneProcess: Told;
  beforeAll(async () => {
    inOneProcess = await play(IN_ONE_PROCESS);
  });

  test('in one process each step counts what it is to count', () => {
    for (const [sentence, { wantCounts = {}, wantMost = {} }] of Object.entries(STORY)) {
      const { counts = {}, most } = inOneProcess[sentence]!;
      expect({ counts, most }, sentence).toMatchObject({ counts: wantCounts, most: wantMost });
    }
  });

  for (const [name, options] of Object.entries(WAYS))
    test.skipIf(options === undefined)(`it is the same with ${name}`, async () => {
      expect(await play(options!)).toEqual(inOneProcess);
    });
});
