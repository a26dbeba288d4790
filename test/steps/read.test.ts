// Reading: sizes, encodings, binary content.
import { expect, test } from 'vitest';
import { StepError } from '../../runner/sdk/index.ts';
import { openRead } from '../../runner/steps/read/read-step.ts';
import { contextOf, stepSpec } from './support.ts';

const read = async (content: string | Uint8Array, spec: object = {}, key = 'src/a.ts') => {
  const context = contextOf(key, content);
  const elements = await openRead(stepSpec({ read: spec }).read!).run([{}], context);
  return { elements, notes: context.notes };
};

const CASES: { readonly [claim: string]: { bytes: number[] | string; encoding?: string; want: string } } = {
  'plain ASCII': { bytes: 'abc', want: 'abc' },
  'UTF-8 beyond the basic plane': { bytes: 'ä😀', want: 'ä😀' },
  'UTF-8 with its byte order mark': { bytes: [0xef, 0xbb, 0xbf, 0x61], want: 'a' },
  'UTF-16, little end first': { bytes: [0xff, 0xfe, 0x61, 0, 0xe4, 0], want: 'aä' },
  'UTF-16, big end first': { bytes: [0xfe, 0xff, 0, 0x61, 0, 0xe4], want: 'aä' },
  'UTF-16 without a mark where the spec says so': { bytes: [0x61, 0, 0xe4, 0], encoding: 'UTF-16LE', want: 'aä' },
  'a mark wins over what the spec says': { bytes: [0xff, 0xfe, 0x61, 0], encoding: 'UTF-8', want: 'a' },
  'what is no UTF-8 is Windows-1252': { bytes: [0x61, 0xe4, 0x80], want: 'aä€' },
  'UTF-8 that was asked for replaces wrong bytes': { bytes: [0x61, 0xe4, 0x62], encoding: 'UTF-8', want: 'a\ufffdb' },
  'half a surrogate pair is replaced': { bytes: [0xff, 0xfe, 0x3d, 0xd8, 0x61, 0], want: '\ufffda' },
};

test.each(Object.entries(CASES))('decodes %s', async (_, { bytes, encoding, want }) => {
  const content = typeof bytes === 'string' ? bytes : Uint8Array.from(bytes);
  const { elements } = await read(content, encoding === undefined ? {} : { encoding });
  expect(elements[0]?.text).toBe(want);
});

test('the place of a file with a byte order mark begins after the mark, so that bytes are those of the file', async () => {
  const file = Buffer.from('\ufefffirst\nsecond\n');
  const { elements } = await read(file);
  const { text, place } = elements[0]!;
  expect(place).toEqual({ startByte: 3, endByte: file.length, startLine: 1, endLine: 2 });
  expect(file.subarray(place!.startByte, place!.endByte).toString()).toBe(text);
});

test('binary content is skipped with a note, or fails where the spec wants that', async () => {
  const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 13]);
  expect(await read(png, {}, 'logo.png')).toEqual({
    elements: [],
    notes: ['logo.png is binary: it has no text and was skipped'],
  });
  await expect(read(png, { onBinary: 'Fail' }, 'logo.png')).rejects.toMatchObject({ class: 'invalid' });
});

test('raw content is passed on as it is where the spec wants bytes', async () => {
  const bytes = Uint8Array.from([0, 1, 2]);
  const { elements } = await read(bytes, { content: 'Bytes' }, 'a.bin');
  expect(elements).toEqual([{ bytes: Buffer.from(bytes) }].map(() => ({ bytes })));
});

test('an item above the size bound fails, or is skipped where the spec wants that', async () => {
  const context = {
    ...contextOf('big.csv'),
    content: async (maxBytes: number) => {
      throw new StepError('too-large', `big.csv has 500 MB, more than ${maxBytes} bytes`);
    },
  };
  const open = (spec: object) => openRead(stepSpec({ read: spec }).read!);
  await expect(open({ maxBytes: '1Mi' }).run([{}], context)).rejects.toThrow('more than 1048576 bytes');
  expect(await open({ maxBytes: '1Mi', onTooLarge: 'Skip' }).run([{}], context)).toEqual([]);
  expect(context.notes).toEqual(['big.csv is larger than 1Mi and was skipped']);
});
