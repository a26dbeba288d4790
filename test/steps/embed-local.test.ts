// The embedder `local`: the model that ships, on a worker thread.
import { afterAll, expect, test } from 'vitest';
import { StaticModel } from '../../runner/steps/embed/static-model.ts';
import { contextOf, embedSpec, openHost, stepSpec } from './support.ts';

const host = openHost();
afterAll(() => host.close());

const model = await StaticModel.load();

function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(model.dimensions);
  model.embed(text, vector, 0);
  return vector;
}

const similarity = (a: string, b: string): number => {
  const [left, right] = [vectorOf(a), vectorOf(b)];
  return left.reduce((sum, value, i) => sum + value * right[i]!, 0);
};

test('texts of like meaning lie nearer than others, with no word in common', () => {
  const pairs = [
    ['delete a file', 'remove documents', 'compile a program'],
    ['the car is fast', 'a quick vehicle', 'the soup is hot'],
    ['authentication failed', 'wrong password for the login', 'draw a chart'],
    ['parseDuration', 'read how many seconds', 'open a window'],
  ] as const;
  for (const [text, near, far] of pairs) {
    expect(similarity(text, near), `${text} is nearer to "${near}" than to "${far}"`).toBeGreaterThan(
      similarity(text, far),
    );
  }
});

test('an identifier is the words that it is made of, and a word that the model lacks is its pieces', () => {
  expect(similarity('deleteUserAccount', 'delete user account')).toBeCloseTo(1, 5);
  expect(similarity('unforgettableness', 'forgettable')).toBeGreaterThan(0.2);
});

test('a text without a known word has no direction, and one of many words is embedded in full', () => {
  for (const text of ['', '...', '漢']) expect([...vectorOf(text)].every((value) => value === 0)).toBe(true);
  const long = `${'filler words '.repeat(20_000)} zebra`;
  expect(similarity(long, 'zebra')).toBeGreaterThan(similarity('filler words', 'zebra'));
});

test('the vector of a text never changes within a version of the model', () => {
  const sum = vectorOf('Keep the index in step with its source.').reduce((all, value, i) => all + value * (i + 1), 0);
  expect(sum).toMatchInlineSnapshot(`-31.426308833470102`);
});

test('the step and the query give the same vectors, of the width that the schema says', async () => {
  const step = await host.openStep(stepSpec({ embed: { local: {} } }), { vectorDimensions: 256 });
  const query = await host.openQueryEmbedder(embedSpec({ local: {} }));
  const [element] = await step.run([{ text: 'open a socket' }], contextOf('a.md'));
  expect(element?.vector).toEqual(vectorOf('open a socket'));
  expect(await query.embed('open a socket', new AbortController().signal)).toEqual(element?.vector);
  expect(query.dimensions).toBe(256);
});

test('a model that does not ship is refused by name', async () => {
  await expect(host.openStep(stepSpec({ embed: { local: { model: 'bge-small' } } }))).rejects.toThrow(
    'there is no model bge-small; static-en-256 ships with Fairlead',
  );
});

test('a file that was cut off is refused, not read as another model', () => {
  expect(() => new StaticModel(new Uint8Array(100))).toThrow('install Fairlead anew');
});
