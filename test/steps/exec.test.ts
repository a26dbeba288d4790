// The step `exec` with real processes. The claims X1 to X4 are those of runner/steps/exec/program.ts.
import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../runner/clock.ts';
import type { CardGrant, Step, StepContext } from '../../runner/execute/index.ts';
import type { StepHostOptions } from '../../runner/steps/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { contextOf, openHost, stepSpec, until } from './support.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function open(exec: object = {}, common: object = {}, options: Partial<StepHostOptions> = {}): Promise<Step> {
  const host = openHost(options);
  const spec = stepSpec({ exec: { command: [process.execPath, 'program.mjs'], ...exec }, ...common });
  const step = await host.openStep(spec);
  ends.push(() => step.close());
  return step;
}

const does = (step: Step, what: string, context: StepContext = contextOf('a.txt')) =>
  step.run([{ text: what }], context);
const textOf = async (step: Step, what: string, context?: StepContext): Promise<string> =>
  (await does(step, what, context))[0]?.text ?? '';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a program gets elements and gives elements, and stays up between items', async () => {
  const step = await open();
  const place = { startByte: 0, endByte: 5, startLine: 1, endLine: 1 };
  expect(
    await step.run(
      [
        { text: 'upper', place },
        { text: 'ä', language: 'text' },
      ],
      contextOf('a.txt'),
    ),
  ).toEqual([
    { text: 'UPPER', place },
    { text: 'Ä', language: 'text' },
  ]);
  expect(await textOf(step, 'pid')).toBe(await textOf(step, 'pid'));
  expect(await does(step, 'vector')).toEqual([{ text: 'v', vector: Float32Array.of(1, 0.5), fields: { kind: 'x' } }]);
});

test('a program sees the item, but not what only Fairlead needs', async () => {
  const step = await open();
  const seen = await step.run([{ text: 'seen', vectorKey: 'k', bytes: Buffer.from('raw') }], contextOf('dir/a.txt'));
  expect(JSON.parse(seen[0]!.text!)).toEqual({
    item: { source: 'docs', key: 'dir/a.txt', version: 'v1' },
    elements: [{ text: 'seen', bytes: 'cmF3' }],
  });
});

test('an item that the program refuses fails with its words, and the program goes on', async () => {
  const step = await open();
  const pid = await textOf(step, 'pid');
  await expect(does(step, 'refuse')).rejects.toMatchObject({ class: 'invalid', message: 'not a PDF' });
  await expect(does(step, 'later')).rejects.toMatchObject({ class: 'rate-limited', retryAfterMs: 7000 });
  expect(await textOf(step, 'pid')).toBe(pid);
});

test('F86: a crash fails the call with the end of standard error, without secrets, and the next call starts anew (X3)', async () => {
  const step = await open(
    { envFrom: [{ name: 'SECRET_KEY', from: { env: 'KEY' } }] },
    {},
    { secret: async () => 'sk-very-secret' },
  );
  const pid = await textOf(step, 'pid');
  const failure = await does(step, 'crash').catch((error: Error) => error);
  expect(failure).toMatchObject({ class: 'transient' });
  expect((failure as Error).message).toMatch(/ended with exit code 3[\s\S]*Traceback: boom \(\*\*\*\)/);
  expect(await textOf(step, 'pid')).not.toBe(pid);
});

test('a call that hangs ends at its time limit, with the process and all that it started (X1, X2, F29)', async () => {
  const clock = new VirtualClock();
  const step = await open({ startTimeout: '5s' }, { timeout: '10s' }, { clock });
  const pid = Number(await textOf(step, 'pid'));
  const child = Number(await textOf(step, 'child'));
  const hung = does(step, 'hang');
  hung.catch(() => undefined);
  await until(() => clock.pending() > 0);
  clock.advance(10_000);
  await expect(hung).rejects.toMatchObject({ class: 'timeout' });
  await until(() => !isAlive(pid) && !isAlive(child));
  expect(Number(await textOf(step, 'pid'))).not.toBe(pid);
});

test('a program that never says anything ends at its start limit', async () => {
  const clock = new VirtualClock();
  const step = await open({ command: ['sleep', '1000'], startTimeout: '5s' }, { timeout: '10s' }, { clock });
  const call = does(step, 'pid');
  call.catch(() => undefined);
  await until(() => clock.pending() > 0);
  clock.advance(14_999);
  clock.advance(1);
  await expect(call).rejects.toThrow('did not answer within 15 s');
});

test('cancelling a run ends its call at once, and the process with it (X2)', async () => {
  const step = await open();
  const pid = Number(await textOf(step, 'pid'));
  const abort = new AbortController();
  const hung = does(step, 'hang', contextOf('a.txt', '', { signal: abort.signal }));
  setImmediate(() => abort.abort(new Error('the run was cancelled')));
  await expect(hung).rejects.toThrow('the run was cancelled');
  await until(() => !isAlive(pid));
});

test('F87: above its memory bound a program is started anew between two items, and an item that swells fails (X4, F6)', async () => {
  const clock = new VirtualClock();
  // A long limit: the time that passes below is for the checks of memory.
  const step = await open({ maxMemory: '180Mi' }, { timeout: '24h' }, { clock });
  const grown = await textOf(step, 'grow');
  expect(await textOf(step, 'pid')).not.toBe(grown);
  let failure: unknown;
  does(step, 'swell').catch((error: unknown) => {
    failure = error;
  });
  await until(() => {
    clock.advance(500);
    return failure !== undefined;
  });
  expect(failure).toMatchObject({ class: 'invalid', message: expect.stringContaining('too large') });
  expect(await textOf(step, 'pid')).toMatch(/^\d+$/);
});

test('calls of concurrent runs share a batch, and only the guilty one fails (F28)', async () => {
  const step = await open({}, { batch: { maxSize: 16 } });
  await does(step, 'pid');
  const wishes = ['upper', 'upper', 'refuse', 'upper', 'crash', 'upper', 'upper'];
  const results = await Promise.allSettled(wishes.map((what, i) => does(step, what, contextOf(`${i}.txt`))));
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(wishes.map((what) => what === 'upper'));
});

test('several processes work side by side', async () => {
  const step = await open({ processes: 2 });
  const pids = await Promise.all([1, 2, 3, 4].map(() => textOf(step, 'pid')));
  expect(new Set(pids).size).toBe(2);
});

test('each card has a process of its own, told by CUDA_VISIBLE_DEVICES (G2)', async () => {
  const step = await open();
  const on = (...cards: number[]): StepContext => ({
    ...contextOf('a.txt'),
    withCard: (body: (grant: CardGrant | undefined) => Promise<unknown>) => body({ cards, milliShare: 500 }) as never,
  });
  expect(await textOf(step, 'cards')).toBe('none');
  expect(await textOf(step, 'cards', on(1))).toBe('1');
  expect(await textOf(step, 'share', on(1))).toBe('1 0.5');
  const first = await textOf(step, 'pid', on(1));
  expect(await Promise.all([textOf(step, 'pid', on(1)), textOf(step, 'pid', on(1))])).toEqual([first, first]);
  expect(await textOf(step, 'pid', on(0))).not.toBe(first);
});

test('a program that gets its whole cards in another set has one process on each of them (G2)', async () => {
  const step = await open();
  const on = (...cards: number[]): StepContext => ({
    ...contextOf('a.txt'),
    withCard: (body: (grant: CardGrant | undefined) => Promise<unknown>) => body({ cards, milliShare: 1000 }) as never,
  });
  expect(await textOf(step, 'cards', on(0, 1))).toBe('0,1');
  const pid = Number(await textOf(step, 'pid', on(0, 1)));
  expect(await textOf(step, 'cards', on(1, 2))).toBe('1,2');
  await until(() => !isAlive(pid));
});

test('a line that is not JSON, and a reply of the wrong form, are errors that say so', async () => {
  const step = await open();
  await expect(does(step, 'babble')).rejects.toThrow('printed a line that is not JSON: "Loading model..."');
  await expect(does(step, 'wrong')).rejects.toThrow('elements[0].text that is not a text');
});

test('a program that is not there is an error that no retry heals', async () => {
  const step = await open({ command: ['./no-such-program'] });
  await expect(does(step, 'pid')).rejects.toMatchObject({
    class: 'invalid',
    message: expect.stringContaining('no-such-program cannot be started'),
  });
});

test('its identity is its declared version, else what its files hold', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-exec-'));
  copyFileSync(join(import.meta.dirname, 'program.mjs'), join(folder, 'program.mjs'));
  const identity = async (exec: object) => (await open(exec, {}, { baseDir: folder })).identity;
  const before = [await identity({}), await identity({ version: '1' })];
  writeFileSync(join(folder, 'program.mjs'), '// another program\n');
  const after = [await identity({}), await identity({ version: '1' })];
  expect(after[0]).not.toBe(before[0]);
  expect(after[1]).toBe(before[1]);
  expect(await identity({ version: '2' })).not.toBe(after[1]);
});

test('closing ends the processes', async () => {
  const step = await open({}, {}, { clock: systemClock });
  const pid = Number(await textOf(step, 'pid'));
  await step.close();
  expect(isAlive(pid)).toBe(false);
});
