// `fairlead embed-server` as users start it: each switch is a fault that a client sees in the answers of a real process.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { EmbedServerStats } from '../../cli/embed-server/index.ts';
import { command, startCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';

vi.setConfig({ testTimeout: 120_000 });

const DIMENSIONS = 8;

/** The address that a server with these switches prints; it is stopped, and ends with 0, after the test. */
async function serve(...switches: string[]): Promise<string> {
  const running = startCommand(['embed-server', '--dimensions', String(DIMENSIONS), ...switches]);
  onTestFinished(async () => {
    running.process.kill('SIGTERM');
    expect((await running.done).code).toBe(0);
  });
  const [, address] = await running.sees(/^(http:.*)\n/);
  return address!;
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly widths: readonly number[];
  readonly values: readonly (number | null)[];
}

async function ask(
  address: string,
  input: readonly string[],
  more: object = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await fetch(`${address}/embeddings`, {
    method: 'POST',
    body: JSON.stringify({ model: 'hash', input, ...more }),
    ...(signal !== undefined && { signal }),
  });
  const { data = [] } = (await response.json()) as { data?: readonly { embedding: readonly (number | null)[] }[] };
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    widths: data.map(({ embedding }) => embedding.length),
    values: data.flatMap(({ embedding }) => embedding),
  };
}

/** Statuses of so many requests, one after the other. */
async function statuses(address: string, requests: number): Promise<number[]> {
  const seen: number[] = [];
  while (seen.length < requests) seen.push((await ask(address, ['rope'])).status);
  return seen;
}

const statsOf = async (address: string): Promise<EmbedServerStats> =>
  (await (await fetch(new URL('/stats', address))).json()) as EmbedServerStats;

test('without a switch each text gets its vector', async () => {
  const { status, widths } = await ask(await serve(), ['rope', 'chain']);
  expect([status, ...widths]).toEqual([200, DIMENSIONS, DIMENSIONS]);
});

test('--rate-limit-every and --retry-after: each nth answer is a 429 that says when to come back', async () => {
  const address = await serve('--rate-limit-every', '2', '--retry-after', '7');
  expect((await ask(address, ['rope'])).retryAfter).toBeNull();
  expect(await ask(address, ['rope'])).toMatchObject({ status: 429, retryAfter: '7' });
});

test('--rate: what goes beyond the rate is a 429', async () => {
  const address = await serve('--rate', '1');
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask(address, ['rope'])));
  expect(answers.find(({ status }) => status === 429)).toMatchObject({ retryAfter: '1' });
  expect(answers.some(({ status }) => status === 200)).toBe(true);
});

test('--fail-every: each nth answer is a 500', async () => {
  expect(await statuses(await serve('--fail-every', '3'), 6)).toEqual([200, 200, 500, 200, 200, 500]);
});

test.each([
  ['--silent-every', '1', 1],
  ['--delay-ms', '3600000', 0],
] as const)('%s %s: the request is taken and has no answer', async (name, value, silent) => {
  const address = await serve(name, value);
  const leaving = new AbortController();
  const asked = expect(ask(address, ['rope'], {}, leaving.signal)).rejects.toThrow('seen enough');
  const taken = ({ requests, silent: unanswered }: EmbedServerStats) => requests === 1 && unanswered === silent;
  const stats = await eventually(() => statsOf(address), taken, 'the server has the request');
  expect(stats.answers).toEqual({});
  leaving.abort(new Error('seen enough'));
  await asked;
});

test.each([
  ['--max-batch', '2', ['a', 'b'], ['a', 'b', 'c'], 413],
  ['--max-length', '5', ['short'], ['longer'], 400],
  ['--refuse-word', 'mud', ['clean'], ['muddy'], 400],
] as const)('%s %s: refuses only what it names', async (name, value, good, bad, status) => {
  const address = await serve(name, value);
  expect((await ask(address, good)).status).toBe(200);
  expect((await ask(address, bad)).status).toBe(status);
});

test('--short-every: a vector is missing in each nth answer', async () => {
  const address = await serve('--short-every', '2');
  expect((await ask(address, ['a', 'b'])).widths.length).toBe(2);
  expect((await ask(address, ['a', 'b'])).widths.length).toBe(1);
});

test('--nan-word: the values of a text that holds the word are no numbers', async () => {
  const address = await serve('--nan-word', 'mud');
  expect((await ask(address, ['rope'])).values).not.toContain(null);
  expect(new Set((await ask(address, ['muddy'])).values)).toEqual(new Set([null]));
});

test('--wrong-dimensions: vectors have that width', async () => {
  expect((await ask(await serve('--wrong-dimensions', '5'), ['rope'])).widths).toEqual([5]);
});

test('--no-base64: a request for base64 is refused, another is not', async () => {
  const address = await serve('--no-base64');
  expect((await ask(address, ['rope'], { encoding_format: 'base64' })).status).toBe(400);
  expect((await ask(address, ['rope'])).status).toBe(200);
});

test('an address that cannot be had is named, without a stack', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await command(['embed-server', '--port', String(port)]);
  expect(code).toBe(1);
  expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: `);
  expect(stderr).not.toMatch(/^ {4}at /m);
});

test.each(['65536', '-1', '1.5', ''])('port "%s" is refused before anything starts', async (port) => {
  const { code, stderr } = await command(['embed-server', '--port', port]);
  expect([code, stderr]).toEqual([64, expect.stringContaining('an integer of at least 0 and at most 65535')]);
});
