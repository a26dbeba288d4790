// The operator's API over real HTTP, on a host with a scripted runner and a virtual clock. V1 to W1 are the invariants at the heads of operator/api.
import { request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type Access,
  type ApiOptions,
  actOn,
  createApi,
  type Overview,
  serveApi,
  type Why,
} from '../../operator/api/index.ts';
import { PipelineHost } from '../../operator/host/index.ts';
import { NO_COUNTS, type RunOutcome } from '../../runner/protocol/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { pipelineSpec, sourceSpec } from '../support/specs.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const TOKEN = 'a-token-of-this-test';
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function world(options: { slotsMax?: number; access?: Access; isCluster?: boolean } & Partial<ApiOptions> = {}) {
  const clock = new VirtualClock();
  const host = new PipelineHost({
    name: 'search/index',
    clock,
    epoch: 1,
    specs: {
      generation: 1,
      pipeline: pipelineSpec(),
      slotsMax: options.slotsMax ?? 2,
      sources: new Map(['docs', 'tickets'].map((name) => [name, sourceSpec()])),
    },
  });
  host.start();
  const runner = new ScriptedRunner();
  runner.uplink = host.addRunner({ name: 'pod-0/1', runnerClass: 'default', slots: 8, runner }).uplink;
  await settle();
  const api = createApi({
    clock,
    hosts: () => new Map([[host.name, host]]),
    access: { isLoopback: true, token: TOKEN },
    about: 'fairlead test',
    ...(options.isCluster === true ? {} : { act: (_, action) => actOn(host, action) }),
    ...options,
  });
  const server = await serveApi(api, '127.0.0.1', 0);
  closers.push(() => server.close());
  const ask = (path: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
    answerOf(server.port, path, init);
  return { clock, host, runner, ask, port: server.port };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** `fetch` does not send a Host header of one's choice. */
function answerOf(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

const BEARER = { authorization: `Bearer ${TOKEN}` };
const ROOT = '/api/v1/pipelines/search/index';
const act = (body: object, headers: Record<string, string> = BEARER) => ({
  method: 'POST',
  headers,
  body: JSON.stringify(body),
});

const failed: RunOutcome = {
  kind: 'failed',
  counts: { ...NO_COUNTS, failed: 1 },
  error: { class: 'invalid', message: 'the listing was refused', step: 'list' },
};

describe('what can be looked at', () => {
  test('the overview shows slots held, what waits, sources and runners', async () => {
    const { ask, runner } = await world({ slotsMax: 1 });
    const { body } = await ask('/api/v1/overview');
    const [pipeline] = (body as Overview).pipelines;
    expect(runner.paths()).toEqual(['docs']);
    expect(pipeline).toMatchObject({
      name: 'search/index',
      slotsMax: 1,
      tree: { slots: 1, pool: { heldSlots: 1, waiting: 1 } },
      sources: [
        { name: 'docs', heldSlots: 1, waitingRuns: 0, isWorking: true },
        { name: 'tickets', heldSlots: 0, waitingRuns: 1, isWorking: true },
      ],
      runners: [{ name: 'pod-0', class: 'default', phase: 'serving', slots: 8, executing: 1 }],
    });
  });

  test('F108, F109, W1: why tells who holds the slot that an update waits for, and what would change it', async () => {
    const { ask, host } = await world({ slotsMax: 1 });
    const waiting = [...host.dispatcher.updates.values()].find(({ start }) => start.source === 'tickets')!;
    const { body } = await ask(`${ROOT}/why?subject=${encodeURIComponent(waiting.name)}`);
    const why = body as Why;
    expect(why).toMatchObject({
      kind: 'update',
      runs: [{ run: { phase: 'waiting' }, explanation: { waitsFor: 'slot' } }],
    });
    expect(why.runs[0]!.says.join('\n')).toMatch(/waits for one of 1 slots; it is next[\s\S]*maxInflightComponents/);
  });

  test('why finds a run by its number and says so where nothing of that name is live', async () => {
    const { ask, host } = await world();
    const [root] = host.dispatcher.findRuns(() => true, 1);
    expect((await ask(`${ROOT}/why?subject=${root!.number}`)).body).toMatchObject({
      kind: 'run',
      runs: [{ says: ['it executes on pod-0/1, attempt 1'] }],
    });
    expect((await ask(`${ROOT}/why?subject=nobody`)).body).toMatchObject({ kind: 'unknown', runs: [] });
  });

  test('why tells of a back-off when it ends, and of a run that follows another one which that is', async () => {
    const { ask, runner, clock } = await world({ slotsMax: 8 });
    const [docs, tickets] = [runner.runAt('docs'), runner.runAt('tickets')];
    const says = async (run: number) => ((await ask(`${ROOT}/why?subject=${run}`)).body as Why).runs[0]!.says;
    const item = { path: 'shared', kind: 'item', source: 'docs' } as const;
    runner.uplink.mount(docs, { ...item, mount: 1 });
    runner.uplink.mount(tickets, { ...item, mount: 1 });
    await settle();
    const first = runner.runAt('shared');
    const second = first + 1;
    expect((await says(second))[0]).toContain(`it waits for run ${first} of update docs-`);

    runner.uplink.exited(tickets, { kind: 'parked', resumeAfterMs: 30_000, error: failed.error });
    await settle();
    clock.advance(10_000);
    expect(await says(tickets)).toEqual([
      'attempt 1 failed in a way that may pass; it holds no slot and asks again in 20.0 s',
      expect.stringMatching(/^what would change it/),
    ]);
  });

  test('updates, failures and freshness tell how a cycle went', async () => {
    const { ask, host, runner, clock } = await world();
    const view = [...host.dispatcher.updates.values()].find(({ start }) => start.source === 'docs')!;
    runner.uplink.exited(runner.runAt('docs'), failed);
    await settle();
    clock.advance(10_000);
    const updates = (await ask(`${ROOT}/updates`)).body as { updates: { name: string; result: string }[] };
    expect(updates.updates.find(({ name }) => name === view.name)).toMatchObject({ result: 'Failed' });
    expect((await ask(`${ROOT}/updates/${view.name}`)).body).toMatchObject({
      update: { message: 'the listing was refused' },
    });
    expect((await ask(`${ROOT}/failures`)).body).toMatchObject({
      failures: [{ update: view.name, class: 'invalid', step: 'list', message: 'the listing was refused' }],
    });
    const { points } = (await ask(`${ROOT}/freshness?source=docs`)).body as { points: unknown[] };
    expect(points).toHaveLength(2);
  });

  test('what is not there is a 404 that says what is missing', async () => {
    const { ask } = await world();
    expect(await ask('/api/v1/pipelines/search/other')).toEqual({
      status: 404,
      body: { error: 'there is no Pipeline search/other' },
    });
    expect((await ask(`${ROOT}/updates/nobody`)).status).toBe(404);
    expect((await ask('/anything')).status).toBe(404);
    expect((await ask('/api/v1/overview', { method: 'DELETE' })).status).toBe(405);
  });
});

describe('access', () => {
  test('P1: off loopback nobody looks without the token', async () => {
    const { ask } = await world({ access: { isLoopback: false, token: TOKEN } });
    expect((await ask('/api/v1/overview')).status).toBe(401);
    const withHeader = async (name: string, value: string) =>
      (await ask('/api/v1/overview', { headers: { [name]: value } })).status;
    expect(await withHeader('authorization', 'Bearer wrong')).toBe(401);
    expect(await withHeader('cookie', 'fairlead-token=wrong')).toBe(401);
    expect(await withHeader('cookie', 'fairlead-token=%E0%A4%A')).toBe(401); // no percent-encoding
    expect(await withHeader('cookie', `theme=dark; fairlead-token=${TOKEN}`)).toBe(200);
    expect(await withHeader('authorization', `Bearer ${TOKEN}`)).toBe(200);
  });

  test('P2: acting needs the token on loopback too', async () => {
    const { ask, runner } = await world();
    const before = runner.orders.length;
    expect((await ask(`${ROOT}/actions`, act({ action: 'refresh' }, {}))).status).toBe(401);
    expect(runner.orders).toHaveLength(before);
  });

  test('P3: a page of another site cannot look under a name of its own', async () => {
    const { ask } = await world();
    expect((await ask('/api/v1/overview', { headers: { host: 'evil.example:80' } })).status).toBe(403);
    expect((await ask('/api/v1/overview', { headers: { host: 'localhost:80' } })).status).toBe(200);
  });
});

describe('acting', () => {
  test('refresh opens a cycle after the one that lists, and suspend stops both sources', async () => {
    const { ask, host } = await world();
    expect(await ask(`${ROOT}/actions`, act({ action: 'refresh', source: 'docs' }))).toEqual({
      status: 200,
      body: { says: 'asked for a cycle of docs' },
    });
    expect((await ask(`${ROOT}/actions`, act({ action: 'suspend' }))).status).toBe(200);
    expect(host.specs.pipeline.suspend).toBe(true);
    expect((await ask(`${ROOT}/actions`, act({ action: 'resume' }))).status).toBe(200);
    expect(host.specs.pipeline.suspend).toBe(false);
  });

  test('a wish that cannot be read or names nobody is refused by name', async () => {
    const { ask } = await world();
    expect(await ask(`${ROOT}/actions`, act({ action: 'explode' }))).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('action must be one of refresh') },
    });
    expect(await ask(`${ROOT}/actions`, act({ action: 'refresh', source: 'nobody' }))).toMatchObject({
      status: 404,
      body: { error: 'search/index has no LiveSource nobody' },
    });
    expect((await ask(`${ROOT}/actions`, { method: 'POST', headers: BEARER, body: '{' })).status).toBe(400);
  });

  test('in a cluster wishes go into the objects', async () => {
    const { ask } = await world({ isCluster: true });
    expect((await ask(`${ROOT}/actions`, act({ action: 'refresh' }))).status).toBe(403);
  });
});

describe('the stream of events', () => {
  test('S1: it starts with an overview, and sends another one when something changed', async () => {
    const { clock, port, runner } = await world();
    const messages: string[] = [];
    const arrived: (() => void)[] = [];
    const next = (count: number) =>
      new Promise<void>((resolve) => {
        if (messages.length >= count) resolve();
        else arrived.push(() => messages.length >= count && resolve());
      });
    const sent = request({ host: '127.0.0.1', port, path: '/api/v1/events' }, (answer) => {
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        messages.push(...part.split('\n').filter((line) => line.startsWith('data: ')));
        for (const tell of arrived) tell();
      });
    });
    sent.on('error', () => {}); // the test hangs up
    sent.end();
    await next(1);
    clock.advance(1_000); // what it holds now
    await next(2);
    runner.uplink.exited(runner.runAt('docs'), { kind: 'done', counts: NO_COUNTS });
    await settle();
    clock.advance(1_000);
    await next(3);
    const last = JSON.parse(messages.at(-1)!.slice('data: '.length)) as Overview;
    expect(last.pipelines[0]!.sources[0]).toMatchObject({ name: 'docs', isWorking: false });
    expect(last.atMs).toBe(clock.nowMs());
    sent.destroy();
  });
});
