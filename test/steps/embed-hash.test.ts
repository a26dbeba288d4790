// The embedder `hash`, and the step `embed` around it.
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { hashTexts } from '../../runner/steps/embed/hash.ts';
import { contextOf, openHost, stepSpec } from './support.ts';

const host = openHost();
afterAll(() => host.close());

const DIMENSIONS = 384;
const vector = (text: string): Float32Array => hashTexts([text], DIMENSIONS);
const similarity = (a: string, b: string): number => {
  const [left, right] = [vector(a), vector(b)];
  return left.reduce((sum, value, i) => sum + value * right[i]!, 0);
};
const length = (v: Float32Array): number => Math.sqrt(v.reduce((sum, value) => sum + value * value, 0));

test('vectors have length one, or zero for a text without words, and are the same each time', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.integer({ min: 8, max: 1024 }),
      (text, dimensions) => {
        const [first, second] = [hashTexts([text], dimensions), hashTexts([text, text], dimensions)];
        expect([...second.subarray(dimensions)]).toEqual([...first]);
        expect(Math.abs(length(first) - 1) < 1e-5 || length(first) === 0).toBe(true);
      },
    ),
  );
  expect(length(vector('... --- ...'))).toBe(0);
});

test('the vector of a text never changes, on no machine and in no version of the same number', () => {
  const sum = vector('function readFile(path: string): Promise<Buffer>').reduce(
    (total, value, i) => total + value * (i + 1),
    0,
  );
  expect(sum).toMatchInlineSnapshot(`152.286470413208`);
});

test('identifiers meet the words that they are made of, in any style of case', () => {
  for (const name of [
    'maxInflightComponents',
    'max_inflight_components',
    'MAX_INFLIGHT_COMPONENTS',
    'MaxInflightComponents',
  ]) {
    expect(similarity(name, 'max inflight components')).toBeGreaterThan(0.6);
  }
  expect(similarity('HTTPServer', 'http server')).toBeGreaterThan(0.6);
  expect(similarity('the servers are reading files', 'server reads a file')).toBeGreaterThan(0.5);
  expect(similarity('parse a date', 'open a socket')).toBeLessThan(0.3);
});

test('the step gives every element with text its vector, and needs no memo for it', async () => {
  const step = await host.openStep(stepSpec({ embed: { hash: {} } }));
  const context = contextOf('a.ts');
  const [first, blank, none, again] = await step.run([{ text: 'one' }, { text: ' ' }, {}, { text: 'one' }], context);
  expect(first?.vector).toEqual(vector('one'));
  expect(again?.vector).toEqual(vector('one'));
  expect([blank, none]).toEqual([{ text: ' ' }, {}]);
  expect(context.remembered.size).toBe(0);
});

test('another width, prefix or embedder gives the step another identity (F12)', async () => {
  const identity = async (embed: object) => (await host.openStep(stepSpec({ embed }))).identity;
  const identities = await Promise.all([
    identity({ hash: {} }),
    identity({ hash: { dimensions: 512 } }),
    identity({ hash: {}, documentPrefix: 'passage: ' }),
  ]);
  expect(new Set(identities).size).toBe(3);
});

test('a width that the target does not store is refused before a row is written', async () => {
  await expect(host.openStep(stepSpec({ embed: { hash: {} } }), { vectorDimensions: 768 })).rejects.toThrow(
    'embed makes vectors of 384 dimensions, but the target stores 768',
  );
});
