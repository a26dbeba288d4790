// Quantities and durations are read exactly, as Kubernetes reads them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cronProblem,
  durationMs,
  formatBytes,
  formatDuration,
  formatMilli,
  nextCronMs,
  quantityBytes,
  quantityMilli,
  quantityNano,
} from '../../crds/schema/index.ts';

describe('a quantity', () => {
  const bytes: Readonly<Record<string, number>> = {
    '0': 0,
    '100': 100,
    '1k': 1000,
    '1Ki': 1024,
    '100Mi': 104_857_600,
    '1.5Gi': 1_610_612_736,
    '0.5Ki': 512,
    '2e3': 2000,
    '2E3': 2000,
    '1e+2': 100,
    '1500e-2': 15,
    '1E': 1e18,
    '1Ti': 1024 ** 4,
    '1000m': 1,
    '1500m': 2,
    '1u': 1,
    '1n': 1,
  };
  for (const [text, want] of Object.entries(bytes))
    test(`${text} is ${want} bytes, rounded up`, () => expect(quantityBytes(text)).toBe(want));

  const milli: Readonly<Record<string, number>> = {
    '500m': 500,
    '0.5': 500,
    '1': 1000,
    '2': 2000,
    '0.001': 1,
    '1e-3': 1,
  };
  for (const [text, want] of Object.entries(milli))
    test(`${text} is ${want} thousandths`, () => expect(quantityMilli(text)).toBe(want));

  test('0.4 + 0.4 + 0.2 is exactly one card', () => {
    expect(quantityMilli('0.4') + quantityMilli('400m') + quantityMilli('0.2')).toBe(1000);
  });

  test('an integer is as good as its text', () => expect(quantityMilli(2)).toBe(quantityMilli('2')));

  for (const text of [
    '',
    ' 1',
    '1 ',
    '-1',
    '+1',
    '.5',
    '1.',
    '1.5.',
    '1KiB',
    '1kb',
    '1 Gi',
    '1e',
    'Mi',
    '0x10',
    '1e1000',
    'NaN',
  ])
    test(`${JSON.stringify(text)} is none`, () => expect(() => quantityNano(text)).toThrow('is not a quantity'));

  test('what is finer than a thousandth is no share of a card', () => {
    expect(() => quantityMilli('0.0005')).toThrow('"0.0005" is finer than a thousandth');
    expect(() => quantityMilli('1u')).toThrow('finer than a thousandth');
  });

  test('what is finer than a billionth is refused, not rounded', () => {
    expect(() => quantityNano('0.0000000001')).toThrow('finer than a billionth');
    expect(quantityNano('0.0000000010')).toBe(1n);
  });

  test('bytes and thousandths survive printing and reading', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 50 }), fc.nat({ max: 64_000 }), (count, share) => {
        expect(quantityBytes(formatBytes(count))).toBe(count);
        expect(quantityMilli(formatMilli(share))).toBe(share);
      }),
    );
  });

  test('is printed with the largest suffix that keeps it exact', () => {
    expect([0, 1, 1024, 1536, 104_857_600, 1025].map(formatBytes)).toEqual(['0', '1', '1Ki', '1536', '100Mi', '1025']);
    expect([500, 1000, 1500, 0].map(formatMilli)).toEqual(['500m', '1', '1500m', '0']);
  });
});

describe('a duration', () => {
  const table: Readonly<Record<string, number>> = {
    '0s': 0,
    '1ms': 1,
    '30s': 30_000,
    '1m': 60_000,
    '1h30m': 5_400_000,
    '1.5h': 5_400_000,
    '0.1s': 100,
    '1m0.5s': 60_500,
    '1s1s': 2000,
    '0.0005s': 0,
    '8760h': 31_536_000_000,
  };
  for (const [text, want] of Object.entries(table))
    test(`${text} is ${want} ms`, () => expect(durationMs(text)).toBe(want));

  for (const text of ['', '30', 's', '-5s', '1d', '1 s', '5 minutes', '1.s', '.5s', 'P1D', '1h 30m', '1µs'])
    test(`${JSON.stringify(text)} is none`, () => expect(() => durationMs(text)).toThrow('is not a duration'));

  test('survives printing and reading', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 40 }), (ms) => {
        expect(durationMs(formatDuration(ms))).toBe(ms);
      }),
    );
  });

  test('is printed in the form of Go', () => {
    expect([0, 90, 60_500, 5_400_000].map(formatDuration)).toEqual(['0s', '90ms', '1m500ms', '1h30m']);
  });
});

describe('a cron expression', () => {
  const noon = Date.UTC(2030, 0, 1, 12);

  test('comes true at its time in its zone', () => {
    expect(nextCronMs('0 13 * * *', 'UTC', noon)).toBe(noon + 3_600_000);
    expect(nextCronMs('0 14 * * *', 'Europe/Berlin', noon)).toBe(noon + 3_600_000);
  });

  test('that never comes true has a problem and no next time', () => {
    expect(cronProblem('0 0 31 2 *', 'UTC')).toBe('never comes true');
    expect(nextCronMs('0 0 31 2 *', 'UTC', noon)).toBeUndefined();
  });

  test('with a value out of range has a problem that says so', () => {
    expect(cronProblem('61 * * * *', 'UTC')).toContain('61');
    expect(cronProblem('* * * * *', 'UTC')).toBeUndefined();
  });
});
