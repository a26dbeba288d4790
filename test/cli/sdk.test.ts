// A module that uses every function of the SDK but the live ones, run by `fairlead dev` with a single slot. The live ones are in live-steps.test.ts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

const PIPELINE = `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: notes}
spec:
  maxInflightComponents: 1
  component:
    steps:
      - read: {}
      - module: {path: steps.ts}
      - export: {target: items}
  targets:
    - {name: items, jsonl: {path: items.jsonl}}
    - {name: words, jsonl: {path: words.jsonl}}
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: files}
spec:
  pipelineRef: {name: notes}
  source: {directory: {path: files}}
  interval: 1h
`;

const MODULE = `import {
  batched, type Component, declareRow, map, memo, type ModuleFunction, mount, mountEach, mountEachStream, progress, RetryWithSmallerBatch,
  rateLimit, useMount, useMountEach,
} from 'fairlead/sdk';

const pace = rateLimit(1000);
const capitals = batched(async (texts: readonly string[]) => {
  if (texts.length > 2) throw new RetryWithSmallerBatch();
  return texts.map((text) => text.toUpperCase());
});
const lengthOf = memo(async (text: string) => text.length, { name: 'length' });

export const word: Component<{ readonly text: string }, number> = async ({ text }) => {
  await pace();
  declareRow('words', { text: await capitals(text) });
  return lengthOf(text);
};

async function* streamOf(words: readonly string[]) {
  for (const text of words) yield [\`stream-\${text}\`, { text: \`stream \${text}\` }] as const;
}

const all: ModuleFunction = async (elements, { signal }) => {
  signal.throwIfAborted();
  const words = elements.flatMap(({ text = '' }) => text.trim().split(' '));
  progress(0, words.length, 'words');
  const one = await mount(word, 'one', { text: 'one' });
  const two = await useMount(word, 'two', { text: 'two!' });
  const each = await mountEach(word, words.map((text) => [\`each-\${text}\`, { text: \`each \${text}\` }] as const));
  const stream = await mountEachStream(word, streamOf(words));
  const used = await useMountEach(word, words.map((text) => [\`used-\${text}\`, { text: \`used \${text}\` }] as const));
  await each.ready();
  const failed = await stream.failed();
  const [first, ...others] = await map(['w', 'x', 'y', 'z'], capitals);
  const counted = { one: await one.ready(), two, each: each.size, stream: stream.size, failed, used, capitals: [first, ...others].join('') };
  return [{ text: JSON.stringify(counted) }];
};
export default all;
`;

class Words extends Workspace {
  constructor() {
    super();
    this.write('pipeline.yaml', PIPELINE);
    this.write('steps.ts', MODULE);
  }

  async pass(): Promise<string> {
    const { stdout, stderr } = await this.run('dev', '-f', 'pipeline.yaml', '--once');
    return `${stdout}${stderr}`;
  }

  texts(target: string): string[] {
    const lines = readFileSync(join(this.folder, `${target}.jsonl`), 'utf8')
      .trim()
      .split('\n');
    return lines.map((line) => (JSON.parse(line) as { text: string }).text).sort();
  }
}

test('every kind of mount, call and declared row gives its result with one slot, and rows of what is mounted no more go', async () => {
  const space = new Words();
  space.write('files/a.txt', 'reef helm\n');
  expect(await space.pass()).toContain('1 added, 0 reprocessed, 0 deleted, 0 failed');
  expect(space.texts('items').map((text) => JSON.parse(text) as unknown)).toEqual([
    { one: 3, two: 4, each: 2, stream: 2, failed: 0, used: [9, 9], capitals: 'WXYZ' },
  ]);
  const ofHelm = ['EACH HELM', 'STREAM HELM', 'USED HELM'];
  const ofBoth = ['EACH REEF', 'ONE', 'STREAM REEF', 'TWO!', 'USED REEF'];
  expect(space.texts('words')).toEqual([...ofBoth, ...ofHelm].sort());

  space.write('files/a.txt', 'reef\n');
  expect(await space.pass()).toContain('0 added, 1 reprocessed, 0 deleted, 0 failed');
  expect(space.texts('words')).toEqual(ofBoth);
});
