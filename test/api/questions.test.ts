// Questions that runners answer, over real HTTP: N1 and N2 are the invariants at the head of operator/host/questions.ts. The runner is scripted.
import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type ApiServer, actOn, createApi, serveApi } from '../../operator/api/index.ts';
import { PipelineHost } from '../../operator/host/index.ts';
import { NO_COUNTS, type RunNumber, type RunOutcome } from '../../runner/protocol/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { pipelineSpec, sourceSpec } from '../support/specs.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const TOKEN = 'a-token-of-this-test';
const ROOT = '/api/v1/pipelines/search/index';
const FOUND = { rows: 3, missing: 1, surplus: 0, differences: [] };

let server: ApiServer | undefined;
afterEach(() => server?.close());

/** Says when an order comes, and when a run is cancelled. */
class HeardRunner extends ScriptedRunner {
  readonly #waiting: (() => void)[] = [];

  override start(order: Parameters<ScriptedRunner['start']>[0]): void {
    super.start(order);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  override cancel(run: RunNumber, why: string): void {
    super.cancel(run, why);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves once `answer` has one. */
  async sees<T>(answer: () => T | undefined): Promise<T> {
    for (;;) {
      const seen = answer();
      if (seen !== undefined) return seen;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The run that a question became. */
  asked(what: string): Promise<RunNumber> {
    return this.sees(() => {
      for (const [run, { input }] of this.running)
        if ((input as { ask?: string } | undefined)?.ask === what) return run;
      return undefined;
    });
  }

  answer(run: RunNumber, outcome: RunOutcome): void {
    this.running.delete(run);
    this.uplink.exited(run, outcome);
  }
}

async function world({ suspend = false }: { readonly suspend?: boolean } = {}) {
  const clock = new VirtualClock();
  const host = new PipelineHost({
    name: 'search/index',
    clock,
    epoch: 1,
    specs: {
      generation: 1,
      pipeline: { ...pipelineSpec(), suspend },
      slotsMax: 8,
      sources: new Map([['docs', sourceSpec()]]),
    },
  });
  host.start();
  const runner = new HeardRunner();
  if (!suspend) runner.uplink = host.addRunner({ name: 'pod-0/1', runnerClass: 'default', slots: 8, runner }).uplink;
  await settle();
  const api = createApi({
    clock,
    hosts: () => new Map([[host.name, host]]),
    access: { isLoopback: true, token: TOKEN },
    about: 'fairlead test',
    act: (_, action) => actOn(host, action),
  });
  server = await serveApi(api, '127.0.0.1', 0);
  return { clock, host, runner, base: `http://127.0.0.1:${server.port}` };
}

const done = (value: object): RunOutcome => ({ kind: 'done', counts: NO_COUNTS, value: value as never });

test('verify is answered by a runner, leaves no record, and its words are the body', async () => {
  const { base, runner, host } = await world();
  const asked = fetch(`${base}${ROOT}/verify`);
  runner.answer(await runner.asked('verify'), done(FOUND));
  expect(await (await asked).json()).toEqual(FOUND);
  expect(host.records(undefined)?.updates(0, 'all')).toEqual([]);
});

test('an answer that takes long keeps its connection open with blanks, which JSON ignores', async () => {
  const { base, runner, clock } = await world();
  const answer = await fetch(`${base}${ROOT}/verify`); // the head comes at once
  const run = await runner.asked('verify');
  for (let quarters = 0; quarters < 8; quarters++) clock.advance(15_000);
  runner.answer(run, done(FOUND));
  const text = await answer.text();
  expect(text.startsWith('        {')).toBe(true);
  expect(JSON.parse(text)).toEqual(FOUND);
});

test('what goes wrong at the runner is said, and a runner that knows no such question is named', async () => {
  const { base, runner } = await world();
  const failing = fetch(`${base}${ROOT}/verify`);
  const error = { class: 'transient', message: 'the target does not answer' } as const;
  runner.answer(await runner.asked('verify'), { kind: 'failed', counts: NO_COUNTS, error });
  expect(await (await failing).json()).toEqual({ error: 'the target does not answer' });
  const old = fetch(`${base}${ROOT}/verify`);
  runner.answer(await runner.asked('verify'), { kind: 'done', counts: NO_COUNTS });
  expect(await (await old).json()).toEqual({ error: expect.stringContaining('of a version that does not know') });
});

test('troubled items are asked for by their place', async () => {
  const { base, runner } = await world();
  const asked = fetch(`${base}${ROOT}/troubled?status=failed&id=17`);
  const run = await runner.asked('troubled');
  expect(runner.running.get(run)?.input).toEqual({ ask: 'troubled', after: { status: 'failed', id: 17 } });
  runner.answer(run, done({ items: [] }));
  expect(await (await asked).json()).toEqual({ items: [] });
});

test('N2: who hangs up withdraws a question', async () => {
  const { base, runner } = await world();
  const asking = request(`${base}${ROOT}/verify`).on('error', () => {});
  asking.end();
  const run = await runner.asked('verify');
  asking.destroy();
  expect(await runner.sees(() => runner.cancels.get(run))).toBe('whoever asked has gone');
});

test('N1: a fifth question is refused while four are open', async () => {
  const { base, runner, host } = await world();
  const open = Array.from({ length: 4 }, () => host.ask({ ask: 'verify' }));
  expect(await (await fetch(`${base}${ROOT}/verify`)).json()).toEqual({
    error: '4 questions are being answered already',
  });
  runner.answer(await runner.asked('verify'), done(FOUND));
  expect(await Promise.race(open.map(({ answer }) => answer))).toEqual({ kind: 'answered', value: FOUND });
  for (const { withdraw } of open) withdraw();
});

test('repair needs the token, is an update like any other, and goes on without whoever asked', async () => {
  const { base, runner, host } = await world();
  expect((await fetch(`${base}${ROOT}/repair`, { method: 'POST', body: '{}' })).status).toBe(401);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const asked = fetch(`${base}${ROOT}/repair`, { method: 'POST', body: '{}', headers });
  const run = await runner.asked('repair');
  expect(host.records(undefined)?.updates(0, 'all')).toMatchObject([{ trigger: 'repair', result: 'Running' }]);
  host.ask({ ask: 'repair' }).withdraw();
  expect(runner.cancels.size).toBe(0);
  runner.answer(run, done({ ...FOUND, missing: 0, repaired: 1 }));
  expect(await (await asked).json()).toEqual({ ...FOUND, missing: 0, repaired: 1 });
  expect(host.records(undefined)?.updates(0, 'all')).toContainEqual(
    expect.objectContaining({ trigger: 'repair', result: 'Succeeded' }),
  );
});

test('a suspended Pipeline without a runner says so instead of waiting for ever', async () => {
  const { base } = await world({ suspend: true });
  expect(await (await fetch(`${base}${ROOT}/verify`)).json()).toEqual({
    error: expect.stringContaining('resume it first'),
  });
});
