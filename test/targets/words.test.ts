// Words of identifiers and of queries.
import { expect, test } from 'vitest';
import { humps, indexedText, queryWords } from '../../runner/targets/words.ts';

test.each([
  ['parseHttpHeader', 'parse Http Header'],
  ['XMLHttpRequest', 'XML Http Request'],
  ['HTTPServer listens on port8080', 'HTTP Server'],
  ['utf8Decoder', 'utf8 Decoder'],
  ['snake_case kebab-case plain CONSTANT Capital', ''],
  ['aB aB', 'a B'],
  ['überGroß', 'über Groß'],
  ['', ''],
])('the parts of %j are %j', (text, want) => {
  expect(humps(text)).toBe(want);
});

test('a row is indexed with its place and the parts of its identifiers', () => {
  expect(indexedText('src/a.ts', 'fooBar()')).toBe('src/a.ts\nfooBar()\nfoo Bar');
  expect(indexedText('src/a.ts', 'foo')).toBe('src/a.ts\nfoo');
});

test('a query is its words and their parts, each once, at most 32', () => {
  expect(queryWords('fooBar "AND" foo-bar_x')).toEqual(['foobar', 'and', 'foo', 'bar', 'x']);
  expect(queryWords('" * ()')).toEqual([]);
  expect(queryWords(Array.from({ length: 99 }, (_, index) => `w${index}`).join(' '))).toHaveLength(32);
});
