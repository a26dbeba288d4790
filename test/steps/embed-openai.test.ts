// The embedder `openai` against a real HTTP server, the one of `fairlead embed-server`, with its faults. Time is virtual on
// both sides, so that pauses and time limits pass when the test says so.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type EmbedServer, type Faults, startEmbedServer } from '../../cli/embed-server/index.ts';
import type { Step } from '../../runner/execute/index.ts';
import { BatchSize } from '../../runner/steps/embed/batch-size.ts';
import { hashTexts } from '../../runner/steps/embed/hash.ts';
import type { StepHost, StepOptions } from '../../runner/steps/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { contextOf, openHost, stepSpec, type TestContext, until } from './support.ts';

const DIMENSIONS = 32;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const vectorOf = (text: string): Float32Array => hashTexts([text], DIMENSIONS);

interface Scene {
  readonly clock: VirtualClock;
  readonly server: EmbedServer;
  readonly host: StepHost;
  readonly step: Step;
}

interface SceneOptions extends StepOptions {
  readonly openai?: object;
  readonly common?: object;
}

async function scene(faults: Faults = {}, options: SceneOptions = {}): Promise<Scene> {
  const clock = new VirtualClock();
  const embedAll = async (texts: readonly string[]) => texts.map(vectorOf);
  const server = await startEmbedServer({ clock, embedAll, model: 'test', faults });
  ends.push(() => server.close());
  const host = openHost({ clock, secret: async () => 'sk-very-secret' });
  const { openai, common, ...own } = options;
  const spec = stepSpec({ embed: { openai: { url: server.url, model: 'test', ...openai } }, ...common });
  const step = await host.openStep(spec, own);
  ends.push(() => step.close());
  return { clock, server, host, step };
}

const elements = (texts: readonly string[]) => texts.map((text) => ({ text }));
const texts = (count: number): string[] => Array.from({ length: count }, (_, i) => `text number ${i}`);

const run = (step: Step, list: readonly string[], context: TestContext = contextOf('a.ts')) =>
  step.run(elements(list), context);

/** Lets virtual time pass until the promise settles. */
async function passing<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let settled = false;
  const end = () => {
    settled = true;
  };
  promise.then(end, end);
  while (!settled) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (clock.pending() > 0 && isQuiet()) clock.advance(50);
  }
  return promise;
}

/** Time moves in small steps between turns of the event loop, so that real input and output keep up. */
let turns = 0;
const isQuiet = (): boolean => ++turns % 4 === 0;

test('every text gets the vector that the server made for it, and equal texts are asked for once', async () => {
  const { step, server } = await scene();
  const list = [...texts(100), 'text number 7'];
  const done = await run(step, list);
  done.forEach((element, i) => {
    expect(element.vector).toEqual(vectorOf(list[i]!));
  });
  expect(server.stats()).toMatchObject({ requests: 2, texts: 100, largestBatch: 64 });
});

test('a second run asks for nothing that is remembered, a full reprocess asks for all (F5, F12)', async () => {
  const { step, server } = await scene();
  const context = contextOf('a.ts');
  const [first] = await run(step, ['one'], context);
  const [second] = await run(step, ['one'], contextOf('b.ts', '', { remembered: context.remembered }));
  expect(second).toEqual(first);
  expect(first?.vectorKey).toMatch(/^[0-9a-f]{32}$/);
  expect(server.stats().requests).toBe(1);
  await run(step, ['one'], contextOf('b.ts', '', { remembered: context.remembered, reprocess: true }));
  expect(server.stats().requests).toBe(2);
});

test('another model or width has other keys in the memo, another address has the same (F12)', async () => {
  const { host, server } = await scene();
  const open = (openai: object) =>
    host.openStep(stepSpec({ embed: { openai: { url: server.url, model: 'a', ...openai } } }));
  const identities = await Promise.all([
    open({}),
    open({ model: 'b' }),
    open({ dimensions: 64 }),
    open({ url: 'http://127.0.0.1:1/v1' }),
  ]);
  for (const step of identities) ends.push(() => step.close());
  const [base, model, width, address] = identities.map((step) => step.identity);
  expect(new Set([base, model, width]).size).toBe(3);
  expect(address).toBe(base);
});

test('a server that cannot answer in base64 is asked for lists from then on', async () => {
  const { step, server } = await scene({ noBase64: true });
  expect((await run(step, ['one']))[0]?.vector).toEqual(vectorOf('one'));
  await run(step, ['two']);
  expect(server.stats().answers).toEqual({ 400: 1, 200: 2 });
});

test('concurrent runs share batches, and the bounds on count, tokens and bytes hold', async () => {
  for (const [batch, largest] of [
    [{ maxSize: 10 }, 10],
    [{ maxBytes: '100' }, 7],
    [{ maxTokens: 20 }, 4],
  ] as const) {
    const { step, server } = await scene({}, { common: { batch } });
    const runs = texts(30).map((text) => run(step, [text], contextOf(`${text}.ts`)));
    await Promise.all(runs);
    expect(server.stats()).toMatchObject({ largestBatch: largest, texts: 30 });
    expect(server.stats().requests).toBeLessThan(30);
  }
});

test('a 429 with a short Retry-After holds everyone up and fails nobody (F25)', async () => {
  for (const retryAfter of ['2', new Date(new VirtualClock().nowMs() + 3000).toUTCString(), undefined]) {
    const { clock, step, server } = await scene({
      rateLimited: { first: 3, ...(retryAfter === undefined ? {} : { retryAfter }) },
    });
    const startMs = clock.nowMs();
    const done = await passing(clock, run(step, texts(5)));
    expect(done.every(({ vector }) => vector !== undefined)).toBe(true);
    expect(server.stats().answers).toEqual({ 429: 3, 200: 1 });
    const waitedMs = clock.nowMs() - startMs;
    expect(waitedMs).toBeGreaterThanOrEqual(retryAfter === '2' ? 6_000 : 1_500);
  }
});

test('a 429 with a long Retry-After is passed on with its time, and the server is left alone meanwhile (F25)', async () => {
  const { clock, step, server } = await scene({ rateLimited: { first: 1, retryAfter: '90' } });
  await expect(run(step, ['one'])).rejects.toMatchObject({ class: 'rate-limited', retryAfterMs: 90_000 });
  clock.advance(30_000);
  await expect(run(step, ['two'])).rejects.toMatchObject({ class: 'rate-limited', retryAfterMs: 60_000 });
  expect(server.stats().requests).toBe(1);
  clock.advance(60_000);
  expect((await run(step, ['two']))[0]?.vector).toBeDefined();
});

test('a 413 is answered by smaller batches, and nothing fails (F26)', async () => {
  const { step, server } = await scene({ tooManyAbove: 5 });
  const done = await run(step, texts(60));
  expect(done.every(({ vector }) => vector !== undefined)).toBe(true);
  expect(server.stats().answers['413']).toBeGreaterThan(0);
});

test('what a server takes at once is learnt, so that few batches are refused', async () => {
  const { step, server } = await scene({ tooManyAbove: 5 });
  for (let i = 0; i < 40; i++)
    await run(
      step,
      texts(64).map((text) => `${i} ${text}`),
    );
  const { answers } = server.stats();
  expect(answers['413']! / answers['200']!, 'refusals for each answer').toBeLessThan(0.1);
});

test('a smaller batch is for a while: what passes often enough lets it grow again', () => {
  const size = new BatchSize(64);
  size.refused(64);
  size.refused(64);
  expect(size.limit).toBe(32);
  for (let i = 0; i < 64; i++) size.passed(32);
  expect(size.limit).toBe(64);
  for (const refused of [64, 32, 16, 8, 4, 2, 1]) size.refused(refused);
  expect(size.limit).toBe(1);
});

test.each([
  ['too long', { tooLongAbove: 40 }, 'too-large'],
  ['refused', { refusedWord: 'GUILTY' }, 'invalid'],
  ['answered with NaN', { nanWord: 'GUILTY' }, 'invalid'],
] as const)(
  'one text of 33 that is %s fails alone; all others have their vectors (F26, F28)',
  async (_, faults, failure) => {
    const { step, server } = await scene(faults);
    const guilty = `GUILTY ${'x'.repeat(60)}`;
    const context = contextOf('a.ts');
    const list = [...texts(20), guilty, ...texts(32).slice(20)];
    await expect(run(step, list, context)).rejects.toMatchObject({ class: failure });
    expect(context.remembered.size).toBe(32);
    expect(server.stats().requests).toBeLessThanOrEqual(2 * list.length - 1);
    const again = await run(step, texts(32), contextOf('a.ts', '', { remembered: context.remembered }));
    expect(again.every(({ vector }) => vector !== undefined)).toBe(true);
  },
);

test('a run beside the one with the guilty text gets its vectors (F28)', async () => {
  const { step } = await scene({ refusedWord: 'GUILTY' });
  const runs = [...texts(8), 'GUILTY', ...texts(3)].map((text, i) => run(step, [text], contextOf(`${i}.ts`)));
  const results = await Promise.allSettled(runs);
  expect(results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([8]);
});

test('a server that accepts and never answers is left at the time limit (F29)', async () => {
  const { clock, step, server } = await scene({ silent: { every: 1 } }, { common: { timeout: '10s' } });
  const attempt = run(step, ['one']);
  attempt.catch(() => undefined);
  await until(() => server.stats().silent === 1);
  clock.advance(1_999);
  clock.advance(1);
  await expect(attempt).rejects.toMatchObject({ class: 'timeout', message: expect.stringContaining('within 2 s') });
});

test('a batch that timed out is asked again in halves (F26)', async () => {
  const { clock, step, server } = await scene({ silent: { first: 1 } }, { common: { timeout: '10s' } });
  const attempt = run(step, texts(8));
  await until(() => server.stats().silent === 1);
  clock.advance(2_000);
  expect((await attempt).every(({ vector }) => vector !== undefined)).toBe(true);
});

test('cancelling a run ends its request at once', async () => {
  const { step, server } = await scene({ silent: { every: 1 } });
  const abort = new AbortController();
  const attempt = run(step, texts(3), contextOf('a.ts', '', { signal: abort.signal }));
  await until(() => server.stats().silent === 1);
  abort.abort(new Error('the run was cancelled'));
  await expect(attempt).rejects.toThrow('the run was cancelled');
});

test('a short reply, a wrong width and an empty vector never become a vector (F27)', async () => {
  const cases = [
    [{ short: { every: 1 } }, {}, 'transient', '0 vectors for 1 texts'],
    [{ dimensions: 7 }, { vectorDimensions: DIMENSIONS }, 'invalid', '7 dimensions where 32 were expected'],
    [{ dimensions: 7 }, { openai: { dimensions: DIMENSIONS } }, 'invalid', '7 dimensions where 32 were expected'],
    [{ dimensions: 0 }, {}, 'invalid', '0 dimensions'],
  ] as const;
  for (const [faults, options, failure, message] of cases) {
    const { step } = await scene(faults, options);
    const context = contextOf('a.ts');
    await expect(run(step, ['one'], context)).rejects.toMatchObject({
      class: failure,
      message: expect.stringContaining(message),
    });
    expect(context.remembered.size).toBe(0);
  }
});

test('a server that changes its width between two replies is refused (F27)', async () => {
  const { step, server } = await scene();
  await run(step, ['one']);
  server.setFaults({ dimensions: 16 });
  await expect(run(step, ['two'])).rejects.toThrow('16 dimensions where 32 were expected');
});

test('a failure of the server is transient, and one that is not there too', async () => {
  const { step, server } = await scene({ failed: { every: 1 } });
  await expect(run(step, ['one'])).rejects.toMatchObject({
    class: 'transient',
    message: expect.stringContaining('500'),
  });
  await server.close();
  await expect(run(step, ['one'])).rejects.toMatchObject({
    class: 'transient',
    message: expect.stringContaining('cannot be reached'),
  });
});

test('the key is sent, and stands in no message even where the server repeats it', async () => {
  const { step, server } = await scene({}, { openai: { keyFrom: { env: 'KEY' } } });
  await run(step, ['one']);
  expect(server.stats().authorized).toBe(1);

  const parrot = createServer((request, response) => {
    response.writeHead(401).end(JSON.stringify({ error: { message: `wrong key: ${request.headers.authorization}` } }));
  });
  await new Promise<void>((resolve) => parrot.listen(0, '127.0.0.1', resolve));
  ends.push(() => new Promise((resolve) => parrot.close(resolve)));
  const url = `http://127.0.0.1:${(parrot.address() as AddressInfo).port}/v1`;
  const other = await scene({}, { openai: { url, keyFrom: { env: 'KEY' } } });
  await expect(run(other.step, ['one'])).rejects.toMatchObject({
    class: 'invalid',
    message: expect.not.stringContaining('sk-very-secret'),
  });
});

test('a counting server sees no more than the rate, with 1, 2 and 8 runners (F31)', async () => {
  for (const runners of [1, 2, 8]) {
    const clock = new VirtualClock();
    const server = await startEmbedServer({ clock, model: 'test', embedAll: async (list) => list.map(vectorOf) });
    ends.push(() => server.close());
    const openai = { url: server.url, model: 'test', rateLimit: { requestsPerMinute: 480 } };
    const steps = await Promise.all(
      Array.from({ length: runners }, async () => {
        const host = openHost({ clock });
        host.shareRates(runners);
        return host.openStep(stepSpec({ embed: { openai }, batch: { maxSize: 1 } }));
      }),
    );
    for (const step of steps) ends.push(() => step.close());
    const calls = steps.flatMap((step, i) => texts(48 / runners).map((text) => run(step, [`${i} ${text}`])));
    await passing(clock, Promise.all(calls));
    // What the runners may send at the very start, one each, and then eight a second.
    expect(server.stats().perSecondMost).toBeLessThanOrEqual(8 + runners - 1);
    expect(server.stats().requests).toBe(48);
  }
});

test('a thousand runs at once use a bounded number of connections (F32)', async () => {
  const { step, server } = await scene({}, { common: { batch: { maxSize: 2 } } });
  await Promise.all(texts(1024).map((text) => run(step, [text])));
  expect(server.stats().connections).toBeLessThanOrEqual(16);
  expect(server.stats().texts).toBe(1024);
});
