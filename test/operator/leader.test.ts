// Leader election against a fake server over real HTTP, on a virtual clock; E1 to E4 are the invariants at the head of
// operator/cluster/leader.ts.
import { describe, expect, test } from 'vitest';
import { LEASE_TIMES, LeaderElector, microTime } from '../../operator/cluster/index.ts';
import { kubeWorld, until } from './kube.ts';

const world = kubeWorld();
const LEASES_PATH = '/apis/coordination.k8s.io/v1/namespaces/fairlead/leases';

async function electors(count: number) {
  const { server, clock, api } = await world();
  const log: string[] = [];
  const signals: AbortSignal[] = [];
  const apis = Array.from({ length: count }, () => api());
  const made = apis.map((kube, i) => {
    const settings = { namespace: 'fairlead', name: 'operator', identity: `op-${i}`, ...LEASE_TIMES };
    return new LeaderElector(kube, settings, {
      onLead: (epoch, signal) => {
        log.push(`op-${i} leads ${epoch}`);
        signals.push(signal);
      },
      onLost: (why) => log.push(`op-${i} lost: ${why}`),
    });
  });
  /** Moves time in small steps, each after the requests of the one before were answered (or met a server that hangs). */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      await until(
        () => apis.reduce((sum, kube) => sum + kube.inFlight, 0) === server.hung,
        'the requests are answered',
      );
      clock.advance(500);
    }
    await until(() => apis.reduce((sum, kube) => sum + kube.inFlight, 0) === server.hung, 'the requests are answered');
  };
  const spec = () => server.get(LEASES_PATH, 'operator')?.spec as Record<string, unknown>;
  return { server, clock, made, log, signals, pass, spec };
}

describe('leader election', () => {
  test('F102: of two candidates one leads, and times have the six digits that the API server demands', async () => {
    const { made, log, pass, spec } = await electors(2);
    for (const elector of made) elector.start();
    await pass(10_000);
    expect(log).toHaveLength(1);
    expect(made.filter((elector) => elector.isLeading())).toHaveLength(1);
    expect(spec().renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    for (const elector of made) await elector.stop();
  });

  test('E4: a leader that stops waits for its workers, releases, and the follower leads at its next look', async () => {
    const { made, log, pass, spec } = await electors(2);
    made[0]!.start();
    await pass(1_000);
    made[1]!.start();
    await pass(1_000);
    const workers = Promise.withResolvers<void>();
    const stopped = made[0]!.stop(workers.promise);
    await pass(500);
    expect(spec().holderIdentity).toBe('op-0');
    workers.resolve();
    await stopped;
    expect(spec().holderIdentity).toBe('');
    made[1]!.leaseChanged();
    await until(() => log.includes('op-1 leads 2'), 'the hand-over');
    await made[1]!.stop();
  });

  test('a release that comes while the lease is looked at is not missed: the follower looks again at once', async () => {
    const { server, made, log, pass } = await electors(1);
    const metadata = { name: 'operator', namespace: 'fairlead' };
    const spec = {
      holderIdentity: 'another',
      leaseDurationSeconds: 3_600,
      renewTime: microTime(0),
      leaseTransitions: 1,
    };
    server.put(LEASES_PATH, { metadata, spec });
    server.breakNext('get', { kind: 'hang' });
    made[0]!.start();
    await until(() => server.hung === 1, 'its look');
    server.put(LEASES_PATH, { metadata, spec: { ...spec, holderIdentity: '' } });
    made[0]!.leaseChanged();
    await pass(LEASE_TIMES.renewDeadlineMs / 2); // the look is given up
    await until(() => log.includes('op-0 leads 2'), 'the hand-over');
    await made[0]!.stop();
  });

  test('E4: a renewal that the end broke off and the server carried out does not keep the lease from being released', async () => {
    const { server, made, pass, spec } = await electors(1);
    made[0]!.start();
    await pass(1_000);
    const lease = server.get(LEASES_PATH, 'operator')!;
    server.put(LEASES_PATH, { ...lease, spec: { ...spec(), renewTime: microTime(1_500) } });
    await made[0]!.stop();
    expect(spec().holderIdentity).toBe('');
  });

  test('E1: a crashed leader is followed only after the lease duration, counted on the local clock', async () => {
    const { server, made, log, pass } = await electors(2);
    server.put(LEASES_PATH, {
      metadata: { name: 'operator', namespace: 'fairlead' },
      spec: { holderIdentity: 'dead', leaseDurationSeconds: 30, renewTime: microTime(0), leaseTransitions: 7 },
    });
    made[1]!.start();
    await pass(29_000);
    expect(log).toEqual([]);
    await pass(8_000);
    expect(log).toEqual(['op-1 leads 8']);
    await made[1]!.stop();
  });

  test('F101, E2: a leader cut off from the API server stops leading by itself within the renew deadline', async () => {
    const { server, clock, made, log, signals, pass } = await electors(1);
    made[0]!.start();
    await pass(1_000);
    for (let i = 0; i < 20; i++) server.breakNext('update', { kind: 'hang' });
    await pass(LEASE_TIMES.renewDeadlineMs + 6_000);
    expect(made[0]!.isLeading()).toBe(false);
    expect(log[1]).toBe('op-0 lost: the lease could not be renewed in time');
    expect(signals[0]!.aborted).toBe(true);
    expect(clock.nowMs()).toBeGreaterThan(0);
    await made[0]!.stop();
  });

  test('E3: a lease that somebody deleted starts above every epoch that was seen', async () => {
    const { server, made, log, pass, spec } = await electors(1);
    made[0]!.noteEpoch(41);
    made[0]!.start();
    await pass(1_000);
    expect(log).toEqual(['op-0 leads 42']);
    server.remove(LEASES_PATH, 'operator');
    await pass(10_000);
    expect(log.slice(1)).toEqual(['op-0 lost: another operator took the lease', 'op-0 leads 43']);
    expect(spec().leaseTransitions).toBe(43);
    await made[0]!.stop();
  });

  test('a leader whose lease another one took stops leading with its next renewal', async () => {
    const { server, made, log, pass } = await electors(1);
    made[0]!.start();
    await pass(1_000);
    const lease = server.get(LEASES_PATH, 'operator')!;
    server.put(LEASES_PATH, {
      ...lease,
      spec: { ...(lease.spec as object), holderIdentity: 'thief', leaseTransitions: 9 },
    });
    await pass(10_000);
    expect(log).toEqual(['op-0 leads 1', 'op-0 lost: another operator took the lease']);
    await made[0]!.stop();
  });
});
