// Splitting. The claims C1 to C5 are those of runner/steps/split/pack.ts.
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { CHUNK_FIELDS } from '../../runner/steps/split/place.ts';
import { type SplitInput, splitText } from '../../runner/steps/split/split-text.ts';
import { contextOf, openHost, stepSpec } from './support.ts';

const host = openHost();
afterAll(() => host.close());

interface Chunk {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly startByte: number;
  readonly endByte: number;
  readonly startLine: number;
  readonly endLine: number;
}

async function chunksOf(text: string, input: Partial<SplitInput> & Pick<SplitInput, 'by'>): Promise<Chunk[]> {
  const { places } = await splitText(text, { language: undefined, chunkSize: 1200, overlap: 200, ...input });
  const chunks: Chunk[] = [];
  for (let i = 0; i < places.length; i += CHUNK_FIELDS) {
    const [start = 0, end = 0, startByte = 0, endByte = 0, startLine = 0, endLine = 0] = places.slice(i);
    chunks.push({ text: text.slice(start, end), start, end, startByte, endByte, startLine, endLine });
  }
  return chunks;
}

const linesUpTo = (text: string, position: number): number => text.slice(0, position).split('\n').length;

/** The claims that hold for every splitter, text and size. */
function checkClaims(text: string, chunks: readonly Chunk[], chunkSize: number, overlap: number): void {
  const bytes = Buffer.from(text);
  const covered = new Uint8Array(text.length);
  let previous: Chunk | undefined;
  for (const chunk of chunks) {
    expect(chunk.end - chunk.start, 'C1: size').toBeLessThanOrEqual(Math.max(chunkSize, 2));
    expect(chunk.text.trim(), 'a chunk says something').not.toBe('');
    expect(chunk.text.isWellFormed(), 'C4: surrogate pairs').toBe(true);
    expect(bytes.subarray(chunk.startByte, chunk.endByte).toString('utf8'), 'byte range').toBe(chunk.text);
    expect(chunk.startLine, 'first line').toBe(linesUpTo(text, chunk.start));
    expect(chunk.endLine, 'last line').toBe(linesUpTo(text, chunk.end - 1));
    if (previous !== undefined) {
      expect(chunk.start, 'C3: starts in order').toBeGreaterThan(previous.start);
      expect(chunk.end, 'C3: ends in order').toBeGreaterThan(previous.end);
      expect(previous.end - chunk.start, 'C3: overlap').toBeLessThanOrEqual(overlap);
    }
    covered.fill(1, chunk.start, chunk.end);
    previous = chunk;
  }
  for (let i = 0; i < text.length; i++) {
    if (covered[i] === 0) expect(text.charAt(i).trim(), `C2: character ${i} is in no chunk`).toBe('');
  }
}

const PIECES = [
  'word',
  ' ',
  '  ',
  '\n',
  '\n\n',
  '\r\n',
  '\t',
  '. ',
  'é',
  '漢字',
  '😀',
  '\u00a0',
  '# Title\n',
  '## Part\n\n',
  '```\n',
  '~~~js\n',
  '- item\n',
  'Title\n=====\n',
  '// comment\n',
  '/* block */',
  'function f(a) {\n',
  '}\n',
  'class A {\n',
  'const x = [1, 2, 3];\n',
  "'a string'",
  'if (x) return `${y}`;\n',
  'def f():\n    pass\n',
  '\u0000',
  '\ufeff',
];

const texts = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 400 }).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 500 }),
  fc.tuple(fc.constantFrom(...PIECES), fc.nat(600)).map(([piece, count]) => piece.repeat(count)),
);

test('chunks cover all that is not blank, keep their size, and their byte and line ranges are exact (C1 to C4)', async () => {
  await fc.assert(
    fc.asyncProperty(
      texts,
      fc.integer({ min: 1, max: 120 }),
      fc.nat(119),
      fc.constantFrom('text', 'markdown', 'code'),
      fc.constantFrom(undefined, 'typescript', 'javascript', 'python', 'markdown', 'cpp'),
      async (text, chunkSize, overlapWish, by, language) => {
        const overlap = Math.min(overlapWish, chunkSize - 1);
        const input = { by, language, chunkSize, overlap } as SplitInput;
        const chunks = await chunksOf(text, input);
        checkClaims(text, chunks, chunkSize, overlap);
        expect(await chunksOf(text, input), 'C5: the same again').toEqual(chunks);
      },
    ),
    { numRuns: 250 },
  );
});

test('a text that fits is one chunk, blank text is none', async () => {
  expect((await chunksOf('\n\n  two lines\nof text\n\n', { by: 'text' })).map((chunk) => chunk.text)).toEqual([
    '  two lines\nof text',
  ]);
  for (const blank of ['', ' \n\t\n', '\u00a0\u2003']) expect(await chunksOf(blank, { by: 'text' })).toEqual([]);
});

test('text is cut at paragraphs before lines, at lines before sentences, at sentences before words', async () => {
  const cuts = async (text: string) =>
    (await chunksOf(text, { by: 'text', chunkSize: 40, overlap: 0 })).map((chunk) => chunk.text);
  expect(await cuts('one paragraph of words\n\nline one\nline two and more of it')).toEqual([
    'one paragraph of words',
    'line one\nline two and more of it',
  ]);
  expect(await cuts('one sentence of words. second one\nline two of the text is here')).toEqual([
    'one sentence of words. second one',
    'line two of the text is here',
  ]);
  expect(await cuts('one sentence of words. second one that is long')).toEqual([
    'one sentence of words.',
    'second one that is long',
  ]);
});

test('markdown begins a chunk at each heading that has enough before it, and keeps a code fence whole', async () => {
  const fence = '```ts\n# no heading\n\nconst a = 1;\n```\n';
  const part = (name: string) => `## ${name}\n\nSome sentences about ${name}, enough for a chunk of its own.\n\n`;
  const text = `# Guide\n\n${part('Setup')}${fence}\n${part('Use')}Setext\n------\n\nThe last part of the guide is here.\n`;
  const chunks = await chunksOf(text, { by: 'markdown', chunkSize: 160, overlap: 40 });
  expect(chunks.map((chunk) => chunk.text.split('\n')[0])).toEqual(['# Guide', '## Use', 'Setext']);
  expect(chunks[0]?.text).toContain(fence.trim());
});

const SAMPLES: { readonly [language: string]: { readonly file: string; readonly unit: (i: number) => string } } = {
  typescript: {
    file: 'a.ts',
    unit: (i) => `/** Says what f${i} does. */\nexport function f${i}(x: number): number {\n  return x + ${i};\n}\n`,
  },
  tsx: { file: 'a.tsx', unit: (i) => `export const C${i} = (p: Props) => {\n  return <b>{p.name} {${i}}</b>;\n};\n` },
  javascript: { file: 'a.mjs', unit: (i) => `function f${i}(x) {\n  if (x) {\n    return ${i};\n  }\n}\n` },
  python: { file: 'a.py', unit: (i) => `@cached\ndef f${i}(x):\n    """Doc of f${i}."""\n    return x + ${i}\n` },
  go: { file: 'a.go', unit: (i) => `// F${i} adds.\nfunc F${i}(x int) int {\n\treturn x + ${i}\n}\n` },
  rust: { file: 'a.rs', unit: (i) => `#[inline]\npub fn f${i}(x: u32) -> u32 {\n    x + ${i}\n}\n` },
  java: { file: 'A.java', unit: (i) => `class C${i} {\n  int f(int x) {\n    return x + ${i};\n  }\n}\n` },
  c: { file: 'a.c', unit: (i) => `static int f${i}(int x)\n{\n  return x + ${i};\n}\n` },
  cpp: { file: 'a.hpp', unit: (i) => `template <class T> T f${i}(T x) {\n  return x + ${i};\n}\n` },
  csharp: { file: 'A.cs', unit: (i) => `class C${i} {\n  int F(int x) {\n    return x + ${i};\n  }\n}\n` },
  ruby: { file: 'a.rb', unit: (i) => `def f${i}(x)\n  x + ${i}\nend\n` },
};

test.each(Object.entries(SAMPLES))(
  '%s is cut between its declarations, comments kept with what they describe',
  async (language, sample) => {
    const units = Array.from({ length: 30 }, (_, i) => sample.unit(i));
    const element = { text: units.join('\n') };
    const step = await host.openStep(stepSpec({ split: { by: 'code', chunkSize: 220, overlap: 0 } }));
    const chunks = await step.run([element], contextOf(sample.file));
    expect(chunks.length).toBeGreaterThan(3);
    for (const chunk of chunks) {
      expect(chunk.language).toBe(language);
      expect(
        chunk.text!.split(/\n\n/).map((part) => `${part}\n`),
        'only whole declarations',
      ).toSatisfy((parts: string[]) => parts.every((part) => units.includes(part)));
    }
  },
);

test('code that does not fit is cut within its body, the deepest last', async () => {
  const body = Array.from({ length: 12 }, (_, i) => `    if (x > ${i}) {\n      y += ${i};\n    }\n`).join('');
  const text = `class A {\n  first() {\n${body}  }\n\n  second() {\n    return 1;\n  }\n}\n`;
  const chunks = await chunksOf(text, { by: 'code', language: 'javascript', chunkSize: 200, overlap: 0 });
  for (const chunk of chunks.slice(1, -1)) expect(chunk.text).toMatch(/^ {4}if|^ {2}second/);
  expect(chunks.at(-1)?.text).toMatch(/second\(\) \{\n {4}return 1;\n {2}\}\n\}$/);
});

test('code with errors, of an unknown language or on one endless line still gives chunks', async () => {
  const broken = 'function ( { ] = => class ;; "unclosed\n'.repeat(200);
  const minified = 'a=[1,2,3];'.repeat(3000);
  for (const [text, language] of [
    [broken, 'typescript'],
    [broken, 'brainfuck'],
    [minified, 'javascript'],
  ] as const) {
    const chunks = await chunksOf(text, { by: 'code', language });
    checkClaims(text, chunks, 1200, 200);
    expect(chunks.length).toBeGreaterThan(3);
  }
});

test('places are those of the file, also when the element is only a part of it', async () => {
  const step = await host.openStep(stepSpec({ split: { by: 'text', chunkSize: 20, overlap: 0 } }));
  const place = { startByte: 100, endByte: 130, startLine: 7, endLine: 8 };
  const chunks = await step.run(
    [{ text: 'première ligne\nseconde ligne\n', place, fields: { a: 1 } }],
    contextOf('a.txt'),
  );
  expect(chunks).toEqual([
    {
      text: 'première ligne',
      place: { startByte: 100, endByte: 115, startLine: 7, endLine: 7 },
      fields: { a: 1 },
      language: 'text',
    },
    {
      text: 'seconde ligne',
      place: { startByte: 116, endByte: 129, startLine: 8, endLine: 8 },
      fields: { a: 1 },
      language: 'text',
    },
  ]);
});

test('a language that is set wins over the name of the item', async () => {
  const step = await host.openStep(stepSpec({ split: { by: 'code', language: 'go' } }));
  expect((await step.run([{ text: 'package a' }], contextOf('a.txt')))[0]?.language).toBe('go');
});
