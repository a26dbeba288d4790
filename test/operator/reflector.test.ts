// The reflector against a misbehaving server over real HTTP; R1 to R7 are the invariants at the head of
// operator/cluster/reflector.ts and copy.ts. Time is virtual: a stalled watch or a back-off costs no wall time.
import { describe, expect, test } from 'vitest';
import {
  type Change,
  type KubeObject,
  PODS,
  Reflector,
  type ReflectorObserver,
  type ReflectorOptions,
} from '../../operator/cluster/index.ts';
import { kubeWorld, PODS_PATH, pod, until } from './kube.ts';

const world = kubeWorld();

async function reflecting(
  prepare?: (server: Awaited<ReturnType<typeof world>>['server']) => void,
  more: Partial<ReflectorOptions<KubeObject>> = {},
) {
  const { server, clock, api } = await world();
  prepare?.(server);
  const told: string[] = [];
  const missed: number[] = [];
  const lists: string[] = [];
  const ended: string[] = [];
  const failures: unknown[] = [];
  const observer: ReflectorObserver = {
    listed: (_kind, why) => lists.push(why),
    missed: (_kind, changes) => missed.push(changes),
    watchEnded: (_kind, why) => ended.push(why),
    handlerFailed: (_kind, error) => failures.push(error),
  };
  const onChange = (change: Change<KubeObject>): void => {
    const { name } = 'object' in change ? change.object.metadata : change.old.metadata;
    told.push(
      `${change.kind} ${name}${change.kind === 'removed' && change.finalStateUnknown ? ' (found by list)' : ''}`,
    );
    if (name === 'poison') throw new Error('handler');
  };
  const reflector = new Reflector({ api: api(), resource: PODS, namespace: 'search', onChange, observer, ...more });
  reflector.start();
  return { server, clock, reflector, told, missed, lists, ended, failures };
}

describe('a reflector', () => {
  test('lists in pages of 500 and then follows changes', async () => {
    const { server, reflector, told } = await reflecting((s) => {
      for (let i = 0; i < 1_201; i++) s.put(PODS_PATH, pod(`p${i}`));
    });
    await reflector.synced;
    expect(server.calls('list')).toHaveLength(3);
    expect(reflector.store.size).toBe(1_201);
    await server.seen('watch', 1);
    server.put(PODS_PATH, pod('late'));
    server.remove(PODS_PATH, 'p7');
    await until(() => told.at(-1) === 'removed p7', 'the removal');
    expect(told.slice(-2)).toEqual(['added late', 'removed p7']);
    await reflector.stop();
  });

  test('F99, R3: a silent watch is reopened from the last version, and what happened meanwhile arrives', async () => {
    const { server, clock, reflector, told, ended } = await reflecting((s) => s.breakNext('watch', { kind: 'hang' }));
    await reflector.synced;
    await server.seen('watch', 1);
    server.put(PODS_PATH, pod('unseen'));
    await until(() => clock.pending() > 0, 'the stall timer');
    clock.advance(100_000);
    await until(() => told.includes('added unseen'), 'the change of the silent time');
    expect(ended[0]).toBe('stalled');
    expect(server.calls('list')).toHaveLength(1);
    await reflector.stop();
  });

  test('R3: two silent watches in a row lead to a list, for a server that was restored says nothing about versions to come', async () => {
    const { server, clock, reflector, told, lists } = await reflecting((s) => {
      s.put(PODS_PATH, pod('p'));
      for (let i = 0; i < 2; i++) s.breakNext('watch', { kind: 'hang' });
    });
    await reflector.synced;
    for (const watches of [1, 2]) {
      await server.seen('watch', watches);
      await until(() => server.hung === 1 && clock.pending() > 0, 'the stall timer');
      if (watches === 2) server.remove(PODS_PATH, 'p', { silent: true });
      clock.advance(100_000);
    }
    await until(() => told.includes('removed p (found by list)'), 'the list');
    expect(lists).toEqual(['start', 'silent']);
    await reflector.stop();
  });

  test('F100, R8: an event that was lost is found by the next audit, counted as missed, and told once', async () => {
    const { server, clock, reflector, told, lists, missed } = await reflecting(
      (s) => {
        for (const name of ['stays', 'goes']) s.put(PODS_PATH, pod(name));
      },
      { auditMs: 60_000 },
    );
    await reflector.synced;
    await server.seen('watch', 1);
    told.length = 0;
    server.remove(PODS_PATH, 'goes', { silent: true });
    server.put(PODS_PATH, pod('later')); // the watch goes on as if nothing were amiss
    await until(() => told.includes('added later'), 'the event after the lost one');
    expect(lists).toEqual(['start']);
    clock.advance(60_000);
    server.endWatches('cleanly');
    await until(() => lists.includes('audit'), 'the audit');
    expect({ told, missed }).toEqual({ told: ['added later', 'removed goes (found by list)'], missed: [1] });
    await reflector.stop();
  });

  test('an object of which nothing is to be kept is as if it were not there', async () => {
    const isKept = ({ metadata }: KubeObject) => metadata.labels?.label === 'a';
    const { server, reflector, told } = await reflecting(
      (s) => {
        s.put(PODS_PATH, pod('kept'));
        s.put(PODS_PATH, pod('passed-over', 'b'));
      },
      { keep: (object) => (isKept(object) ? object : undefined) },
    );
    await reflector.synced;
    await server.seen('watch', 1);
    server.put(PODS_PATH, pod('kept', 'b'));
    server.put(PODS_PATH, pod('passed-over'));
    await until(() => told.length === 3, 'the changes');
    expect(told).toEqual(['added kept', 'removed kept', 'added passed-over']);
    await reflector.stop();
  });

  test('R4: a 410, as an event or as a status, leads to a relist that tells only what differs', async () => {
    const { server, clock, reflector, told, missed } = await reflecting((s) => {
      for (const name of ['stays', 'goes', 'changes']) s.put(PODS_PATH, pod(name));
    });
    await reflector.synced;
    await server.seen('watch', 1);
    told.length = 0;
    server.remove(PODS_PATH, 'goes', { silent: true });
    server.put(PODS_PATH, pod('changes', 'b'), { silent: true });
    server.compact();
    server.endWatches('cleanly');
    await until(() => clock.pending() > 0 || told.length > 0, 'the reopened watch');
    clock.advance(30_000);
    await until(() => told.length >= 2, 'the relist');
    expect(told).toEqual(['updated changes', 'removed goes (found by list)']);
    expect(missed).toEqual([2]);
    await reflector.stop();
  });

  test('R4: 429 on a watch and a cut connection reopen it from the last version, without a list', async () => {
    const { server, clock, reflector, told } = await reflecting((s) =>
      s.breakNext('watch', { kind: 'status', code: 429, retryAfterS: 1 }),
    );
    await server.seen('watch', 1);
    await until(() => reflector.state.phase === 'backoff', 'back-off after the 429');
    clock.advance(2_000);
    await server.seen('watch', 2);
    server.endWatches('reset');
    await until(() => reflector.state.phase === 'backoff', 'back-off after the cut');
    server.put(PODS_PATH, pod('p'));
    clock.advance(60_000);
    await until(() => told.includes('added p'), 'the change');
    expect(server.calls('list')).toHaveLength(1);
    await reflector.stop();
  });

  test('a server that answers 500 to every list for ten minutes is asked ever more seldom, and then listed', async () => {
    const { server, clock, reflector } = await reflecting((s) => {
      for (let i = 0; i < 400; i++) s.breakNext('list', { kind: 'status', code: 503 });
    });
    await server.seen('list', 1);
    const startMs = clock.nowMs();
    while (clock.nowMs() - startMs < 600_000) {
      await until(() => clock.pending() > 0, 'a timer');
      clock.step();
    }
    expect(server.calls('list').length).toBeLessThan(200);
    await reflector.stop();
  });

  test('R5: an object that was deleted and made again under its name is a removal and an addition', async () => {
    const { server, clock, reflector, told } = await reflecting((s) => s.put(PODS_PATH, pod('p')));
    await reflector.synced;
    await server.seen('watch', 1);
    server.remove(PODS_PATH, 'p', { silent: true });
    server.put(PODS_PATH, pod('p'), { silent: true });
    server.compact();
    server.endWatches('cleanly');
    await until(() => clock.pending() > 0, 'the reopened watch');
    clock.advance(30_000);
    await until(() => told.length >= 3, 'both changes');
    expect(told).toEqual(['added p', 'removed p (found by list)', 'added p']);
    await reflector.stop();
  });

  test('R6: a handler that throws is reported and stops nothing', async () => {
    const { server, reflector, told, failures } = await reflecting((s) => s.put(PODS_PATH, pod('poison')));
    await server.seen('watch', 1);
    server.put(PODS_PATH, pod('next'));
    await until(() => told.includes('added next'), 'the next change');
    expect(failures).toHaveLength(1);
    await reflector.stop();
  });

  test('R7: a reflector that never listed stops at once, and its wait for the first list ends', async () => {
    const { server, reflector } = await reflecting((s) => s.breakNext('list', { kind: 'hang' }));
    await server.seen('list', 1);
    const synced = expect(reflector.synced).rejects.toThrow(/before the first list/);
    await reflector.stop();
    await synced;
    expect(reflector.state.phase).toBe('stopped');
  });
});
