// One operator behind a proxy that delays, loses and cuts, on a real API server; and what it does with very many objects. F1 to F3 are the
// invariants at the head of operator/reconcile/controllers/drops.ts, X1 and X2 those of operator/reconcile/runners/expectations.ts.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FINALIZER, STATUS_MAX_BYTES } from '../../crds/schema/index.ts';
import type { ControlOptions } from '../../operator/service/index.ts';
import { NO_COUNTS } from '../../runner/protocol/index.ts';
import { MINIMAL_PIPELINE, MINIMAL_SOURCE, type Plain } from '../crds/objects.ts';
import { FaultProxy, type ProxiedCall } from '../fakes/fault-proxy.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { apiOf, startOperator } from '../support/operator.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';

let server: ApiServer;
let namespaces = 0;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startApiServer();
  await installCrds(server);
});
afterAll(() => server?.stop());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Seen {
  readonly metadata: { readonly name: string; readonly uid: string; readonly finalizers?: string[] };
  readonly status?: {
    readonly conditions?: { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

/** A namespace of its own, and an operator that serves only that, through a proxy. */
async function world(options: Partial<ControlOptions> = {}) {
  const namespace = `faults-${++namespaces}`;
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  const proxy = new FaultProxy(server.url);
  const calls: { readonly method: string; readonly path: string }[] = [];
  const observer = {
    requestEnded: (method: string, path: string) => void calls.push({ method, path }),
    requestRetried: () => {},
  };
  const api = apiOf(await proxy.start(), server.token, { observer });
  const operator = await startOperator(api, { namespaces: [namespace], ...options });
  ends.push(
    () => proxy.stop(),
    () => api.close(),
    () => operator.stop(),
  );
  const at = (plural: string, name = '') =>
    `${plural === 'pods' ? '/api/v1' : '/apis/fairlead.dev/v1alpha1'}/namespaces/${namespace}/${plural}${name && `/${name}`}`;
  const see = async (plural: string, name: string): Promise<Seen | undefined> => {
    const answer = await server.ask('GET', at(plural, name));
    return answer.status === 200 ? (answer.body as Seen) : undefined;
  };
  const pods = async () => ((await server.ask('GET', at('pods'))).body as { items: Seen[] }).items;
  const make = async (object: Plain, name: string, spec: Plain = {}): Promise<void> => {
    const plural = object.kind === 'Pipeline' ? 'pipelines' : 'livesources';
    const body = { ...object, metadata: { name, namespace }, spec: { ...(object.spec as Plain), ...spec } };
    const answer = await server.ask('POST', at(plural), body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  };
  const events = async (name: string) => {
    const { body } = await server.ask('GET', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
    const { items } = body as { items: { regarding: { name: string }; reason: string; note: string }[] };
    return items.filter(({ regarding }) => regarding.name === name);
  };
  /** A runner that ends each cycle at once: `counts` of a source's first cycle, nothing later. */
  const join = (pipeline: string, pod: string, counts = NO_COUNTS) => {
    const { host } = operator.control.hosts.get(`${namespace}/${pipeline}`)!;
    const runner = new ScriptedRunner();
    const known = new Set<string>();
    const start = runner.start.bind(runner);
    runner.start = (order) => {
      start(order);
      const isFirst = !known.has(order.path);
      known.add(order.path);
      setImmediate(() => runner.exit(order.path, { kind: 'done', counts: isFirst ? counts : NO_COUNTS }));
    };
    runner.uplink = host.addRunner({ name: `${pod}/1`, runnerClass: 'default', slots: 64, runner }).uplink;
    return runner;
  };
  return { namespace, proxy, calls, operator, at, see, pods, make, events, join };
}

const isPodCreate = ({ method, path }: ProxiedCall) => method === 'POST' && path.endsWith('/pods');
const isReal = ({ query }: ProxiedCall) => !query.has('dryRun');
const condition = (seen: Seen | undefined, type: string) => seen?.status?.conditions?.find((one) => one.type === type);

describe('runner pods while the API server is at its worst', () => {
  test('F97, X1: with a cache that lags and creates whose answers are lost there are never more pods than wanted', async () => {
    const { proxy, operator, pods, make, namespace, at } = await world();
    const late = Promise.withResolvers<void>();
    proxy.holdEvents(({ path }) => path.endsWith('/pods'), late.promise);
    proxy.next((call) => isPodCreate(call) && isReal(call), { kind: 'lost-answer' }, 2);
    const runners = [{ name: 'default', slots: 4, replicas: { min: 2, max: 3 } }];
    const url = { urlFrom: { secretKeyRef: { name: 'index-db', key: 'url' } } };
    await make(MINIMAL_PIPELINE, 'index', { runners, state: { postgres: url } });
    await eventually(pods, (all) => all.length === 2, 'both pods');
    for (let look = 0; look < 5; look++) operator.control.runnerChanged(`${namespace}/index`);
    const patch = { metadata: { annotations: { again: 'yes' } } };
    await server.ask('PATCH', at('pipelines', 'index'), patch, { contentType: 'application/merge-patch+json' });
    await eventually(
      () => operator.control.metrics().pipelines,
      ({ depth, working }) => depth + working === 0,
      'all looks are done',
    );
    expect(proxy.calls.filter((call) => isPodCreate(call) && isReal(call))).toHaveLength(2);
    late.resolve();
    await eventually(
      () => [...operator.caches.pods()].length,
      (count) => count === 2,
      'the cache shows them',
    );
    expect(await pods()).toHaveLength(2);
  });
});

describe('deletion', () => {
  test('F2: where the target is gone for good the object is let go after the documented time, and an event says what was left', async () => {
    const { at, see, make, events } = await world({ finalizerTimeoutMs: 2_000 });
    await make(MINIMAL_PIPELINE, 'index');
    await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
    for (const [plural, name] of [
      ['livesources', 'docs'],
      ['pipelines', 'index'],
    ] as const)
      await eventually(
        () => see(plural, name),
        (seen) => seen?.metadata.finalizers?.includes(FINALIZER) === true,
        `the finalizer of ${name}`,
      );
    await server.ask('DELETE', at('livesources', 'docs'));
    await server.ask('DELETE', at('pipelines', 'index')); // no runner ever comes to remove the rows
    for (const [plural, name] of [
      ['livesources', 'docs'],
      ['pipelines', 'index'],
    ] as const)
      await eventually(
        () => see(plural, name),
        (seen) => seen === undefined,
        `${name} is let go`,
      );
    const [stuck] = await eventually(
      () => events('index'),
      (all) => all.some(({ reason }) => reason === 'DeletionStuck'),
      'the event',
    ).then((all) => all.filter(({ reason }) => reason === 'DeletionStuck'));
    expect(stuck!.note).toContain('Rows were left behind');
  });
});

describe('a thousand LiveSources', () => {
  const SOURCES = 1_000;
  const PIPELINES = 4;
  /** Some seconds where nothing else runs. */
  const PATIENCE_MS = 200_000;

  test(
    'are all followed and Ready; then nothing is written, and idle cycles ask the API server for nothing at all',
    async () => {
      const { operator, calls, namespace, at, pods, make, join } = await world();
      const names = Array.from({ length: PIPELINES }, (_, n) => `index-${n}`);
      for (const name of names) await make(MINIMAL_PIPELINE, name);
      const sources = Array.from({ length: SOURCES }, (_, n) => `source-${n}`);
      for (let from = 0; from < SOURCES; from += 50)
        await Promise.all(
          sources
            .slice(from, from + 50)
            .map((name, n) =>
              make(MINIMAL_SOURCE, name, { pipelineRef: { name: names[n % PIPELINES] }, interval: '24h' }),
            ),
        );
      const made = await eventually(pods, (all) => all.length >= PIPELINES, 'a pod for each Pipeline');
      for (const name of names)
        join(name, made.find(({ metadata }) => metadata.name.startsWith(`${name}-`))!.metadata.name);
      const unready = async () => {
        const { items } = (await server.ask('GET', at('livesources'))).body as { items: Seen[] };
        return items.filter((seen) => condition(seen, 'Ready')?.status !== 'True').length;
      };
      await eventually(unready, (count) => count === 0, 'all are Ready', PATIENCE_MS);
      const isQuiet = () => operator.control.statuses.isIdle && operator.control.metrics().sources.depth === 0;
      await eventually(isQuiet, Boolean, 'everything is written');
      // One finalizer, and a few statuses on the way to Ready: no storm.
      const perSource = calls.filter(({ path }) => path.includes('/livesources/source-')).length / SOURCES;
      expect(perSource).toBeLessThan(6);
      calls.length = 0;
      for (const name of names) {
        const { host } = operator.control.hosts.get(`${namespace}/${name}`)!;
        for (const source of host.sources) host.wantCycle(source, { trigger: 'interval' });
        await eventually(
          () => host.activity(undefined),
          ({ inFlight, waiting }) => inFlight + waiting === 0,
          `the cycles of ${name}`,
        );
      }
      await eventually(isQuiet, Boolean, 'nothing is left to write');
      expect(calls.filter(({ method }) => method !== 'GET')).toEqual([]);
    },
    2 * PATIENCE_MS,
  );

  test('F92: a status stays below 8 KiB with a million items, a thousand failures and messages of any length', async () => {
    const { see, pods, make, join, operator, namespace } = await world({ statusEveryMs: 100 });
    await make(MINIMAL_PIPELINE, 'index');
    await make(MINIMAL_SOURCE, 'docs', { pipelineRef: { name: 'index' } });
    const [pod] = await eventually(pods, (all) => all.length === 1, 'a runner pod');
    const runner = join('index', pod!.metadata.name, { ...NO_COUNTS, added: 1_000_000, failed: 1_000 });
    const { host } = operator.control.hosts.get(`${namespace}/index`)!;
    runner.count('docs', { total: 1_001_000, failed: 1_000 });
    await eventually(
      () => host.records('docs')?.lastCycleAtMs,
      (atMs) => atMs !== undefined,
      'the first cycle',
    );
    runner.start = (order) => {
      const error = { class: 'transient', message: `${'the far side said: no! '.repeat(400)}` } as const;
      setImmediate(() => runner.uplink.exited(order.token.run, { kind: 'failed', counts: NO_COUNTS, error }));
    };
    for (let update = 0; update < 12; update++) {
      host.wantCycle('docs', { trigger: 'refresh' });
      await eventually(
        () => host.activity('docs').inFlight,
        (runs) => runs === 0,
        'the cycle fails',
      );
    }
    const seen = await eventually(
      () => see('livesources', 'docs'),
      (now) =>
        condition(now, 'Ready')?.status === 'False' &&
        (now?.status as { updates?: unknown[] } | undefined)?.updates?.length === 10,
      'ten updates',
    );
    expect(JSON.stringify(seen!.status).length).toBeLessThan(STATUS_MAX_BYTES);
    expect(seen!.status).toMatchObject({ items: { total: 1_001_000, failed: 1_000 } });
  });
});
