// Requests against a misbehaving server over real HTTP; K1 to K4 are the invariants at the head of operator/cluster/rest.ts.
import { describe, expect, test } from 'vitest';
import { ApiError, isNotFound, Unreachable } from '../../operator/cluster/index.ts';
import { kubeWorld, PODS_PATH, pod, until } from './kube.ts';

const world = kubeWorld();
const get = { method: 'GET', path: `${PODS_PATH}/p` } as const;

describe('requests to the API server', () => {
  test('a hundred requests share sixteen connections at most', async () => {
    const { server, api } = await world();
    server.put(PODS_PATH, pod('p'));
    const kube = api();
    await Promise.all(Array.from({ length: 100 }, () => kube.request(get)));
    expect(server.connections).toBeLessThanOrEqual(16);
  });

  test('K1: a server that accepts and never answers costs the deadline, then says so', async () => {
    const { server, clock, api } = await world();
    server.breakNext('get', { kind: 'hang' });
    const request = api().request({ ...get, deadlineMs: 5_000 });
    const failed = expect(request).rejects.toThrow(/no answer within 5000 ms/);
    await server.seen('get', 1);
    clock.advance(5_000);
    await failed;
  });

  test('K2: a refusal is the callers at once, with reason and code', async () => {
    const { server, api } = await world();
    const error = await api()
      .request(get)
      .catch((e: unknown) => e);
    expect(isNotFound(error)).toBe(true);
    expect(server.calls('get')).toHaveLength(1);
  });

  test('K2: an apply that is refused with a bare 500 is not tried again', async () => {
    const { server, api } = await world();
    server.breakNext('patch', { kind: 'status', code: 500 });
    const patch = api().request({
      method: 'PATCH',
      path: `${PODS_PATH}/p`,
      contentType: 'application/apply-patch+yaml',
      body: {},
    });
    await expect(patch).rejects.toMatchObject({ code: 500 });
    expect(server.calls('patch')).toHaveLength(1);
  });

  test('K4: a burst goes at once, the rest at the rate, in the order in which it was asked for; the lease does not wait', async () => {
    const { server, clock, api } = await world();
    for (const name of ['p0', 'p1', 'p2', 'p3', 'lease']) server.put(PODS_PATH, pod(name));
    const kube = api(undefined, { perSecond: 1, burst: 2 });
    const done: string[] = [];
    const ask = (name: string, pool: 'crud' | 'lease' = 'crud') =>
      kube.request({ ...get, path: `${PODS_PATH}/${name}`, pool }).then(() => done.push(name));
    const all = ['p0', 'p1', 'p2', 'p3'].map((name) => ask(name));
    await ask('lease', 'lease');
    await until(() => done.length === 3, 'the burst and the lease');
    clock.advance(1_000);
    await until(() => done.length === 4, 'the third');
    expect(done.at(-1)).toBe('p2');
    clock.advance(1_000);
    await Promise.all(all);
    expect(done.at(-1)).toBe('p3');
  });

  test('K3: a plain-text 429 is waited out as Retry-After says', async () => {
    const { server, clock, api } = await world();
    server.put(PODS_PATH, pod('p'));
    server.breakNext('get', { kind: 'status', code: 429, retryAfterS: 3, plain: true });
    const request = api().request(get);
    await server.seen('get', 1);
    await until(() => clock.pending() > 1, 'the request waits');
    clock.advance(2_999);
    expect(server.calls('get')).toHaveLength(1);
    clock.advance(1);
    await expect(request).resolves.toMatchObject({ metadata: { name: 'p' } });
  });

  test('K3: a lost connection is tried again for a read, never for a create', async () => {
    const { server, clock, api } = await world();
    server.put(PODS_PATH, pod('p'));
    server.breakNext('get', { kind: 'reset' });
    server.breakNext('create', { kind: 'reset' });
    const kube = api();
    const create = kube.request({ method: 'POST', path: PODS_PATH, body: pod('q') });
    await expect(create).rejects.toBeInstanceOf(Unreachable);
    const read = kube.request(get);
    await server.seen('get', 1);
    await until(() => clock.pending() > 1, 'the read backs off');
    clock.advance(1_000);
    await expect(read).resolves.toMatchObject({ metadata: { name: 'p' } });
    expect(server.calls('create')).toHaveLength(1);
  });

  test('a retry that would end after the deadline is not waited for', async () => {
    const { server, api } = await world();
    server.breakNext('get', { kind: 'status', code: 503, retryAfterS: 60 });
    await expect(api().request({ ...get, deadlineMs: 5_000 })).rejects.toBeInstanceOf(ApiError);
  });

  test('an abort ends a request in flight, and the signal keeps no listener', async () => {
    const { server, api } = await world();
    server.breakNext('get', { kind: 'hang' });
    const controller = new AbortController();
    const request = api().request({ ...get, signal: controller.signal });
    const failed = expect(request).rejects.toBeInstanceOf(Unreachable);
    await server.seen('get', 1);
    controller.abort(new Error('the lead was lost'));
    await failed;
  });
});
