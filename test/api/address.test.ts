// Where the API listens: what is taken, what counts as loopback, and where it is found.
import { describe, expect, test } from 'vitest';
import { parseApiAddress, urlOf } from '../../operator/api/index.ts';

describe('an address of the API', () => {
  test.each([
    ['127.0.0.1:7070', { host: '127.0.0.1', port: 7070, isLoopback: true }],
    ['localhost:0', { host: 'localhost', port: 0, isLoopback: true }],
    ['[::1]:8081', { host: '::1', port: 8081, isLoopback: true }],
    ['0.0.0.0:8081', { host: '0.0.0.0', port: 8081, isLoopback: false }],
    ['[::]:8081', { host: '::', port: 8081, isLoopback: false }],
    ['10.0.0.7:8081', { host: '10.0.0.7', port: 8081, isLoopback: false }],
  ])('%s is taken, and only loopback counts as that', (text, wanted) => {
    expect(parseApiAddress(text)).toEqual(wanted);
  });

  test('off serves nothing', () => {
    expect(parseApiAddress('off')).toBe('off');
  });

  test.each(['', '8081', '127.0.0.1', '127.0.0.1:', ':8081', '127.0.0.1:70000', 'on'])('%j is refused', (text) => {
    expect(parseApiAddress(text)).toBeUndefined();
  });

  test.each([
    ['127.0.0.1:0', 'http://127.0.0.1:4000'],
    ['[::1]:0', 'http://[::1]:4000'],
  ])('%s is found at %s', (text, url) => {
    const address = parseApiAddress(text);
    expect(typeof address === 'object' && urlOf(address, 4000)).toBe(url);
  });
});
