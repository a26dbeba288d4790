// Keys of paths, as properties over random bytes.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keyOf, rawOf } from '../../runner/sources/common/names.ts';

const segment = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString('latin1').replaceAll('/', '_').replaceAll('\0', '_'))
  .filter((name) => name !== '.' && name !== '..');
const odd = fc.constantFrom(
  '\u00ef\u00bf\u00bd',
  '\u00ff',
  '\u00c3',
  '\u00c3\u00a9',
  '\u00ed\u00a0\u0080',
  '%41',
  '\n',
  '--x',
);
const raw = fc.array(fc.oneof(segment, odd), { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));

it('each path has one key, well-formed Unicode, that leads back to its bytes (N1)', () => {
  fc.assert(
    fc.property(raw, (path) => {
      const key = keyOf(path);
      expect(key.isWellFormed()).toBe(true);
      expect(rawOf(key)).toBe(path);
    }),
  );
});

it('no two paths share a key', () => {
  fc.assert(
    fc.property(raw, raw, (a, b) => {
      expect(keyOf(a) === keyOf(b)).toBe(a === b);
    }),
  );
});

it('a text that is the key of no path is refused: no aliases, no way out of the root (N2)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const path = rawOf(text);
      if (path !== undefined) expect(keyOf(path)).toBe(text);
    }),
  );
  for (const text of [
    '',
    '/',
    'a/',
    '/a',
    'a//b',
    '.',
    'a/../b',
    '..',
    'a\0',
    '\uFFFD',
    '\uFFFD41',
    '\uFFFDff',
    '\uD800',
  ])
    expect([text, rawOf(text)]).toEqual([text, undefined]);
});
