// The reflector behind a proxy that cuts, delays, lies and loses, on a real API server. R1 to R8 are the invariants at the heads of
// operator/cluster/reflector.ts and copy.ts.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Change,
  type KubeObject,
  Reflector,
  type ReflectorOptions,
  type Resource,
} from '../../operator/cluster/index.ts';
import { FaultProxy } from '../fakes/fault-proxy.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { eventually } from '../support/eventually.ts';
import { apiOf } from '../support/operator.ts';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' };

let server: ApiServer;
let namespaces = 0;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startApiServer();
});
afterAll(() => server?.stop());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Told = Change<KubeObject>;

/** Keeps what was told, and checks each change against those before it: what is added was not there, versions only grow. */
class Listener {
  readonly objects = new Map<string, KubeObject>();
  readonly told: string[] = [];
  readonly wrong: string[] = [];

  readonly hear = (change: Told): void => {
    const object = change.kind === 'removed' ? change.old : change.object;
    const { name, resourceVersion = '', uid } = object.metadata;
    const known = this.objects.get(name);
    this.told.push(`${change.kind} ${name}`);
    if (change.kind === 'added' && known !== undefined) this.wrong.push(`${name} was added twice`);
    if (change.kind !== 'added' && known === undefined) this.wrong.push(`${name} was ${change.kind} and not there`);
    const isOlder =
      known?.metadata.uid === uid && BigInt(resourceVersion) < BigInt(known?.metadata.resourceVersion ?? 0);
    if (change.kind === 'updated' && isOlder) this.wrong.push(`${name} went back`);
    if (change.kind === 'removed') this.objects.delete(name);
    else this.objects.set(name, object);
  };

  of(name: string): string[] {
    return this.told.filter((line) => line.endsWith(` ${name}`));
  }
}

async function reflecting(names: readonly string[], more: Partial<ReflectorOptions<KubeObject>> = {}) {
  const namespace = `reflected-${++namespaces}`;
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  const path = (name = '') => `/api/v1/namespaces/${namespace}/configmaps${name && `/${name}`}`;
  const put = (name: string) => server.ask('POST', path(), { metadata: { name }, data: { n: '0' } });
  const change = (name: string, n: number) =>
    server.ask('PATCH', path(name), { data: { n: `${n}` } }, { contentType: 'application/merge-patch+json' });
  const remove = (name: string) => server.ask('DELETE', path(name));
  await Promise.all(names.map(put));
  const proxy = new FaultProxy(server.url);
  const api = apiOf(await proxy.start(), server.token, { random: () => 0.05 });
  const listener = new Listener();
  const lists: string[] = [];
  const endings: string[] = [];
  const missed: number[] = [];
  const reflector = new Reflector<KubeObject>({
    api,
    resource: CONFIG_MAPS,
    namespace,
    onChange: listener.hear,
    observer: {
      listed: (_, why) => lists.push(why),
      missed: (_, changes) => missed.push(changes),
      watchEnded: (_, why) => endings.push(why),
      handlerFailed: (_, error) => listener.wrong.push(String(error)),
    },
    ...more,
  });
  ends.push(
    () => proxy.stop(),
    () => api.close(),
    () => reflector.stop(),
  );
  reflector.start();
  await reflector.synced;
  const truth = async () => {
    const { items } = (await server.ask('GET', path())).body as { items: KubeObject[] };
    return new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
  };
  /** The copy is what the server has. */
  const untilEqual = async (what: string) => {
    const want = [...(await truth())].sort();
    const have = () => [...reflector.store.values()].map(({ metadata: m }) => [m.name, m.resourceVersion]).sort();
    await eventually(have, (seen) => JSON.stringify(seen) === JSON.stringify(want), what);
  };
  return { proxy, reflector, listener, lists, endings, missed, put, change, remove, untilEqual };
}

const isWatch = ({ kind }: { kind: string }) => kind === 'watch';
const isList = ({ kind }: { kind: string }) => kind === 'list';

describe('a reflector behind a bad network', () => {
  test('R1 to R6: a storm of cuts, 410, 429 and 500 while objects come, change and go leaves the copy equal, and nothing flaps', async () => {
    const quiet = ['still-a', 'still-b', 'still-c'];
    const names = Array.from({ length: 30 }, (_, n) => `busy-${n}`);
    const { proxy, listener, put, change, remove, untilEqual } = await reflecting([...quiet, ...names]);
    const isAny = () => true;
    for (let round = 0; round < 12; round++) {
      const [a, b, c] = [0, 1, 2].map((n) => names[(round * 7 + n * 11) % names.length]!);
      if (round % 4 === 0) proxy.next(isWatch, { kind: 'expired-event' });
      if (round % 4 === 1) proxy.next(isAny, { kind: 'status', code: 429, retryAfterS: 0 });
      if (round % 4 === 2) proxy.next(isAny, { kind: 'status', code: 500 });
      if (round % 4 === 3) proxy.next(isAny, { kind: 'cut' });
      await Promise.all([change(a!, round), remove(b!), change(c!, round + 100)]);
      proxy.cutWatches();
      await Promise.all([put(b!), change(a!, round + 200)]);
    }
    await eventually(
      () => proxy.armed,
      (armed) => armed === 0,
      'every fault was met',
    );
    await untilEqual('the copy after the storm');
    expect(listener.wrong).toEqual([]);
    for (const name of quiet) expect(listener.of(name)).toEqual([`added ${name}`]);
  });

  test('F99, R3: a watch that falls silent is opened again from its version: what happened arrives, and nothing is listed', async () => {
    const { proxy, lists, endings, change, untilEqual } = await reflecting(['a'], { stallMs: 400 });
    await eventually(() => proxy.calls.filter(isWatch).length, Boolean, 'the watch');
    proxy.silenceWatches();
    await change('a', 1);
    await eventually(
      () => endings,
      (seen) => seen.includes('stalled'),
      'the silence is noticed',
    );
    proxy.hearWatches();
    await untilEqual('the change of the silent time');
    expect(lists.filter((why) => why !== 'silent')).toEqual(['start']);
  });

  test('F100, R8: an event that got lost on the way is found by the next audit, and counted', async () => {
    const { proxy, lists, missed, listener, change, put, untilEqual } = await reflecting(['a', 'b'], { auditMs: 1 });
    await eventually(() => proxy.calls.filter(isWatch).length, Boolean, 'the watch');
    proxy.dropEvents(({ object }) => object.metadata.name === 'a');
    await change('a', 1);
    await put('c');
    await eventually(() => listener.objects.has('c'), Boolean, 'the event behind the lost one');
    expect(listener.of('a')).toEqual(['added a']);
    proxy.cutWatches();
    await eventually(
      () => lists,
      (seen) => seen.includes('audit'),
      'the audit',
    );
    await untilEqual('the copy after the audit');
    expect(listener.of('a')).toEqual(['added a', 'updated a']);
    expect(missed).toEqual([1]);
  });

  test('R2, R4: a continue token that expired in the middle of a list begins the list anew, and tells nothing twice', async () => {
    const names = Array.from({ length: 620 }, (_, n) => `item-${n}`);
    const { proxy, reflector, listener, untilEqual } = await reflecting(names);
    expect(reflector.store.size).toBe(names.length + (reflector.store.get('kube-root-ca.crt') ? 1 : 0));
    proxy.next(isWatch, { kind: 'expired-event' });
    proxy.next((call) => isList(call) && call.query.has('continue'), { kind: 'status', code: 410, reason: 'Expired' });
    proxy.cutWatches();
    await eventually(
      () => proxy.armed,
      (armed) => armed === 0,
      'both faults',
    );
    await untilEqual('the copy');
    expect(listener.told).toHaveLength(names.length);
    expect(listener.wrong).toEqual([]);
  });

  test('an API server that is away is asked ever more seldom, and the watch goes on from its version when it is back', async () => {
    const { proxy, reflector, lists, put, untilEqual } = await reflecting(['a']);
    proxy.goDown();
    await eventually(
      () => reflector.state,
      (state) => state.phase === 'backoff' && state.attempt > 2,
      'back-off',
    );
    await put('while-away');
    proxy.comeUp();
    await untilEqual('the copy');
    expect(lists).toEqual(['start']);
  });

  test('R7: stop ends it in every phase, and raises nothing', async () => {
    const { proxy, reflector } = await reflecting(['a']);
    proxy.next(isWatch, { kind: 'delay', until: new Promise(() => {}) });
    proxy.cutWatches();
    await eventually(
      () => proxy.armed,
      (armed) => armed === 0,
      'the watch hangs',
    );
    await reflector.stop();
    expect(reflector.state.phase).toBe('stopped');
  });
});
