// Fails a test that wrote to the console: output is for programs and people, and goes through a stream that a test can read.
import { afterEach, beforeEach, expect, vi } from 'vitest';

const METHODS = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;
const written: string[] = [];

beforeEach(() => {
  written.length = 0;
  for (const method of METHODS)
    vi.spyOn(console, method).mockImplementation((...values) => void written.push(`${method}: ${values.join(' ')}`));
});

afterEach(() => {
  expect(written, 'a test, or the code under test, wrote to the console').toEqual([]);
});
