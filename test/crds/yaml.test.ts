// Files of objects: read as kubectl reads them, with every problem at once and each at its place.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Loading, loadObjects, loadTexts, problemText } from '../../cli/objects/index.ts';
import { READ_AS, REFUSED } from './scalars.ts';

const load = (text: string): Loading => loadTexts([{ name: 'a.yaml', folder: '/work', text }]);
const lines = (text: string): string[] => load(text).problems.map(problemText);

const PIPELINE = `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: code-index}
spec:
  component:
    steps:
      - read: {}
      - export: {target: chunks}
  targets:
    - name: chunks
      jsonl: {path: a.jsonl}
`;
const SOURCE = `apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: docs}
spec:
  pipelineRef: {name: code-index}
  source: {directory: {path: .}}
  interval: 30s
`;

describe('a bare scalar', () => {
  const templateOf = (value: string): unknown => {
    const text = `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: code-index}
spec:
  runners:
    - name: cpu
      template:
        value: ${value}
  component: {steps: [{export: {target: chunks}}]}
  targets: [{name: chunks, jsonl: {path: a}}]
`;
    const loading = load(text);
    if (loading.problems.length > 0) return loading.problems.map((problem) => problem.message);
    return loading.objects.pipelines[0]?.value.spec.runners[0]?.template?.value;
  };

  for (const [scalar, want] of Object.entries(READ_AS))
    test(`${scalar} is ${JSON.stringify(want)}, as to kubectl`, () => expect(templateOf(scalar)).toEqual(want));

  for (const [scalar, message] of Object.entries(REFUSED))
    test(`${scalar} is refused`, () =>
      expect(templateOf(scalar)).toEqual(expect.arrayContaining([expect.stringContaining(message)])));
});

describe('a problem', () => {
  test('names file, line, column, object and field, and suggests the nearest field', () => {
    expect(lines(PIPELINE.replace('- read: {}', '- raed: {}'))).toEqual([
      'a.yaml:7:9: Pipeline default/code-index: spec.component.steps[0].raed: unknown field; did you mean read?',
    ]);
  });

  test('lists the fields that are known where none is near', () => {
    expect(lines(PIPELINE.replace('jsonl: {path: a.jsonl}', 'jsonl: {path: a.jsonl, zzz: 1}'))).toEqual([
      'a.yaml:11:30: Pipeline default/code-index: spec.targets[0].jsonl.zzz: unknown field; known here: path',
    ]);
  });

  test('comes with all others of all documents at once, in reading order', () => {
    const text = `${PIPELINE.replace('read: {}', 'read: {maxBytes: lots}').replace('target: chunks', 'target: chunk')}---
${SOURCE.replace('30s', '30')}---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSorce
`;
    expect(lines(text)).toEqual([
      'a.yaml:7:16: Pipeline default/code-index: spec.component.steps[0].read.maxBytes: must be a quantity from 1 to 4Gi, such as 64Ki, 100Mi or 1.5Gi, not "lots"',
      'a.yaml:8:18: Pipeline default/code-index: spec.component.steps[1].export.target: export.target must name one of targets, not "chunk"; did you mean chunks?',
      'a.yaml:19:3: LiveSource default/docs: spec.interval: must be a duration from 1s to 8760h, such as 500ms, 30s, 5m or 1h30m, not 30',
      'a.yaml:22:1: LiveSorce: kind: must be one of Pipeline, LiveSource, not "LiveSorce"; did you mean LiveSource?',
    ]);
  });

  test('says that YAML, not the user, made a word a boolean or a number', () => {
    const source = SOURCE.replace('{directory: {path: .}}', '{git: {url: ., ref: on}}').replace(
      'name: docs',
      'name: 0755',
    );
    expect(load(`${source}---\n${PIPELINE}`).problems.map((problem) => problem.message)).toEqual([
      'must be text, not 493 (YAML reads 0755 as 493: write "0755")',
      'must be text, not true (YAML reads on as true: write "on")',
    ]);
  });

  test('says that a verb without value counts as absent', () => {
    expect(lines(PIPELINE.replace('read: {}', 'read:'))[0]).toContain(
      '(read has no value and counts as absent: write read: {} for one without settings)',
    );
  });

  test('says which members are set where only one may be', () => {
    expect(lines(PIPELINE.replace('read: {}', '{read: {}, split: {}}'))[0]).toContain(
      'must be set, not read and split together',
    );
  });

  test('of a number in quotes says to leave them out', () => {
    expect(lines(PIPELINE.replace('spec:', 'spec:\n  maxInflightComponents: "8"'))).toEqual([
      'a.yaml:5:3: Pipeline default/code-index: spec.maxInflightComponents: must be a whole number, not "8"; write 8 without quotes',
    ]);
  });

  test('of a missing field stands at the object that lacks it', () => {
    expect(lines(PIPELINE.replace(/ {2}targets:[\s\S]*/, ''))).toEqual([
      'a.yaml:4:1: Pipeline default/code-index: spec.targets: is required: a list',
    ]);
  });

  test('of a misspelt required field is told once', () => {
    expect(lines(PIPELINE.replace('targets:', 'target:'))).toEqual([
      'a.yaml:9:3: Pipeline default/code-index: spec.target: unknown field; did you mean targets?',
    ]);
  });

  test("of a cron expression is told in the expression's words", () => {
    const [line] = lines(`${PIPELINE}---\n${SOURCE.replace('interval: 30s', 'cron: 0 25 * * *')}`);
    expect(line).toContain('spec.cron: "0 25 * * *" is no cron expression: Invalid value for hour: 25');
  });

  test('of a step in a list item behind an alias stands at the anchor', () => {
    const text = PIPELINE.replace('- read: {}', '- &step {split: {overlp: 1}}\n      - *step');
    expect(lines(text)[0]).toBe(
      'a.yaml:7:24: Pipeline default/code-index: spec.component.steps[0].split.overlp: unknown field; did you mean overlap?',
    );
  });
});

describe('text that is no object', () => {
  const table: Readonly<Record<string, { text: string; want: string }>> = {
    'that is no YAML': { text: 'a: [1,', want: 'a.yaml:1:7: this is not YAML' },
    'with a key twice': {
      text: `${PIPELINE}kind: LiveSource\n`,
      want: 'a.yaml:12:1: this is not YAML: Map keys must be unique',
    },
    'that is a list': { text: '- 1\n', want: 'a.yaml:1:1: an object was expected' },
    'that is a word': { text: 'hello', want: 'a.yaml:1:1: an object was expected' },
    'without apiVersion': {
      text: 'kind: Pipeline\n',
      want: 'a.yaml:1:1: Pipeline: apiVersion: is required: fairlead.dev/v1alpha1',
    },
    'without kind': { text: 'apiVersion: fairlead.dev/v1alpha1\n', want: 'a.yaml:1:1: kind: is required' },
    'of another version': {
      text: PIPELINE.replace('v1alpha1', 'v1'),
      want: 'a.yaml:1:1: Pipeline default/code-index: apiVersion: must be fairlead.dev/v1alpha1, not "fairlead.dev/v1"',
    },
    'of a misspelt group': {
      text: 'apiVersion: fairled.dev/v1alpha1\nkind: Pipelin\n',
      want: 'a.yaml:1:1: Pipelin: apiVersion: must be fairlead.dev/v1alpha1, not "fairled.dev/v1alpha1"',
    },
  };
  for (const [sentence, { text, want }] of Object.entries(table))
    test(`${sentence} is refused at its place`, () => expect(lines(text)[0]).toContain(want));

  test('an alias of an anchor in another document is refused at its place, by its name', () => {
    const [line] = lines('apiVersion: fairlead.dev/v1alpha1\nspec: &s {}\n---\nkind: LiveSource\nspec: *s\n').slice(-1);
    expect(line).toMatch(/^a\.yaml:5:7: \*s stands for nothing: no &s is before it in this document/);
  });

  test('that would blow up by its aliases is refused', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`,
    );
    expect(lines(`a0: &a0 [x]\n${levels.join('\n')}\n`)[0]).toContain('a.yaml:1:1: this is not YAML');
  });

  test('that is empty, or only comments, is nothing', () => {
    expect(load('')).toMatchObject({ problems: [], skipped: [] });
    expect(load('---\n# nothing here\n---\n')).toMatchObject({ problems: [], skipped: [] });
  });
});

describe('objects of a set of files', () => {
  test('of other kinds are skipped and named, Secrets are kept for secretKeyRef', () => {
    const { objects, skipped, problems } = load(`${PIPELINE}---
apiVersion: v1
kind: Secret
metadata: {name: index-db}
data: {url: cG9zdGdyZXM6Ly94}
stringData: {token: abc}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: search}
`);
    expect(problems).toEqual([]);
    expect(skipped.map((one) => one.called)).toEqual(['Deployment search/web']);
    expect(objects.secrets[0]).toMatchObject({ name: 'index-db', namespace: 'default' });
    expect(objects.secrets[0]?.value.values).toEqual({ url: 'postgres://x', token: 'abc' });
  });

  test('in a list of Kubernetes are read one by one, with their places', () => {
    const text = `apiVersion: v1
kind: List
items:
  - ${PIPELINE.replaceAll('\n', '\n    ').trim()}
  - ${SOURCE.replace('weight', '').replaceAll('\n', '\n    ').replace('interval: 30s', 'intervl: 30s').trim()}
`;
    const { objects } = load(text);
    expect(objects.pipelines.map((one) => one.name)).toEqual(['code-index']);
    expect(lines(text)).toEqual([
      'a.yaml:21:7: LiveSource default/docs: spec.intervl: unknown field; did you mean interval?',
    ]);
  });

  test('of one name and kind are refused, with both places', () => {
    expect(lines(`${PIPELINE}---\n${PIPELINE}`)).toEqual([
      'a.yaml:15:12: Pipeline default/code-index: metadata.name: another Pipeline of this name stands at a.yaml:1:1',
    ]);
  });

  test('of one name in two namespaces are two objects', () => {
    expect(
      lines(`${PIPELINE}---\n${PIPELINE.replace('{name: code-index}', '{name: code-index, namespace: b}')}`),
    ).toEqual([]);
  });

  test('that name a Pipeline which is not there are refused with the nearest one', () => {
    expect(lines(`${PIPELINE}---\n${SOURCE.replace('name: code-index', 'name: code-indx')}`)).toEqual([
      'a.yaml:17:17: LiveSource default/docs: spec.pipelineRef.name: there is no Pipeline code-indx in namespace default among the files; did you mean code-index?',
    ]);
  });

  test('that name a Pipeline of another namespace are told so', () => {
    const elsewhere = PIPELINE.replace('{name: code-index}', '{name: code-index, namespace: search}');
    expect(lines(`${elsewhere}---\n${SOURCE}`)[0]).toContain(
      'there is one in namespace search, and a LiveSource feeds a Pipeline of its own namespace',
    );
  });

  test('that name a Pipeline with problems of its own are not blamed for them', () => {
    expect(lines(`${PIPELINE.replace('read: {}', 'raed: {}')}---\n${SOURCE}`)).toHaveLength(1);
  });
});

describe('paths', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-objects-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const world = (stdin = '') => ({ cwd: folder, stdin: () => Promise.resolve(stdin) });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

  test('may be a folder: its yaml, yml and json files by name, not those of folders within', async () => {
    mkdirSync(join(folder, 'specs/inner'), { recursive: true });
    write('specs/b.yml', SOURCE);
    write('specs/a.yaml', PIPELINE);
    write('specs/c.json', JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' } }));
    write('specs/notes.txt', 'not: [read');
    write('specs/inner/d.yaml', 'not: [read');
    const { objects, problems, skipped } = await loadObjects(['specs'], world());
    expect(problems).toEqual([]);
    expect(objects.pipelines[0]?.origin).toMatchObject({ file: 'specs/a.yaml', folder: join(folder, 'specs') });
    expect(objects.sources[0]?.origin.file).toBe('specs/b.yml');
    expect(skipped[0]?.origin.file).toBe('specs/c.json');
  });

  test('may be standard input beside files', async () => {
    write('a.yaml', PIPELINE);
    const { objects } = await loadObjects(['a.yaml', '-'], world(SOURCE));
    expect(objects.sources[0]?.origin).toMatchObject({ file: 'standard input', folder });
  });

  test('that cannot be read are problems beside those of the others', async () => {
    write('a.yaml', PIPELINE.replace('read', 'raed'));
    mkdirSync(join(folder, 'empty'));
    const { problems, unreadable } = await loadObjects(['none.yaml', 'empty', 'a.yaml'], world());
    expect(unreadable).toBe(true);
    expect(problems.map(problemText)).toEqual([
      'none.yaml: there is no such file or folder',
      'empty: the folder holds no .yaml, .yml or .json file (folders within it are not searched)',
      'a.yaml:7:9: Pipeline default/code-index: spec.component.steps[0].raed: unknown field; did you mean read?',
    ]);
  });

  test('given twice are read once', async () => {
    write('a.yaml', PIPELINE);
    expect((await loadObjects(['a.yaml', 'a.yaml'], world())).problems).toEqual([]);
  });
});
