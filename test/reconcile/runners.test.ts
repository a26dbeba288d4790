// The plan for runner pods; P1 to P6 are the invariants at the head of operator/reconcile/runners/plan.ts.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ClassPicture, planClass, type RunnerPodView } from '../../operator/reconcile/index.ts';

const NOW_MS = 1_000_000;
const MINUTE_MS = 60_000;

function classOf(over: Partial<ClassPicture['runner']> = {}): ClassPicture['runner'] {
  return {
    name: 'cpu',
    slots: 10,
    gpus: 0,
    resourceName: 'nvidia.com/gpu',
    replicas: { min: 0, max: 4 },
    idleAfter: '5m',
    ...over,
  };
}

/** A pod that is ready and idle for a minute, unless said otherwise. */
function podOf(ordinal: number, over: Partial<RunnerPodView> = {}): RunnerPodView {
  const runner = { executing: 0, isDraining: false, isDrained: false, idleSinceMs: NOW_MS - MINUTE_MS };
  return {
    name: `p-${ordinal}`,
    uid: `u-${ordinal}`,
    ordinal,
    fingerprint: 'now',
    phase: 'Running',
    isDeleting: false,
    runner,
    ...over,
  };
}

const busy = (executing: number) => ({ runner: { executing, isDraining: false, isDrained: false } });
const draining = (executing: number) => ({
  runner: { executing, isDraining: true, isDrained: executing === 0, ...(executing === 0 && { idleSinceMs: NOW_MS }) },
});

function pictureOf(over: Partial<ClassPicture> = {}): ClassPicture {
  return {
    runner: classOf(),
    pods: [],
    fingerprint: 'now',
    executing: 0,
    waiting: 0,
    isSuspended: false,
    nowMs: NOW_MS,
    ...over,
  };
}

const named = (plan: ReturnType<typeof planClass>) => ({
  creates: plan.creates,
  drains: plan.drains.map((pod) => pod.ordinal),
  deletes: plan.deletes.map(({ pod, why }) => `${pod.ordinal} ${why}`),
});
const nothing = { creates: [], drains: [], deletes: [] };

describe('runner pods of a class', () => {
  test('a class with cards has pods for the shares that its runs ask for, however many slots a pod has', () => {
    const runner = classOf({ slots: 64, gpus: 2, replicas: { min: 0, max: 8 } });
    expect(planClass(pictureOf({ runner, waiting: 9, milliCards: 9 * 500 })).creates).toEqual([0, 1, 2]);
    expect(planClass(pictureOf({ runner, waiting: 200, milliCards: 100 })).creates).toEqual([0, 1, 2, 3]);
  });

  test('P3: over the allowance, pods that never connected go before idle ones', () => {
    const { runner: _, ...coming } = podOf(0, { phase: 'Pending' });
    const pods = [coming, podOf(1), podOf(2)];
    expect(named(planClass(pictureOf({ pods, waiting: 30, allowance: 2 })))).toEqual({
      creates: [],
      drains: [],
      deletes: ['0 surplus'],
    });
  });

  test('none are made while nothing waits, and as many as the demand fills when something does', () => {
    expect(named(planClass(pictureOf()))).toEqual(nothing);
    expect(planClass(pictureOf({ waiting: 11 })).creates).toEqual([0, 1]);
    expect(planClass(pictureOf({ waiting: 400_000 })).creates).toEqual([0, 1, 2, 3]);
  });

  test('replicas.min of them are kept without any demand', () => {
    expect(planClass(pictureOf({ runner: classOf({ replicas: { min: 2, max: 4 } }) })).creates).toEqual([0, 1]);
  });

  test('P1: pods that are still being deleted count, so a card is never asked for twice', () => {
    const pods = [0, 1, 2, 3].map((ordinal) => podOf(ordinal, ordinal === 3 ? { isDeleting: true } : busy(10)));
    expect(planClass(pictureOf({ pods, executing: 30, waiting: 100 })).creates).toEqual([]);
  });

  test('F90, P2, P3: an idle pod drains after idleAfter and is deleted only when it said that it drained', () => {
    const idle = (minutes: number) => ({
      runner: { executing: 0, isDraining: false, isDrained: false, idleSinceMs: NOW_MS - minutes * MINUTE_MS },
    });
    expect(named(planClass(pictureOf({ pods: [podOf(0, idle(4))] })))).toEqual(nothing);
    expect(planClass(pictureOf({ pods: [podOf(0, idle(4))] })).lookAgainAtMs).toBe(NOW_MS + MINUTE_MS);
    expect(named(planClass(pictureOf({ pods: [podOf(0, idle(5))] })))).toEqual({ ...nothing, drains: [0] });
    expect(named(planClass(pictureOf({ pods: [podOf(0, draining(0))] })))).toEqual({
      ...nothing,
      deletes: ['0 surplus'],
    });
    expect(named(planClass(pictureOf({ pods: [podOf(0, draining(2))], executing: 2 }))).deletes).toEqual([]);
  });

  test('P3: over its allowance of cards a class drains its least busy pod at once, without cutting a run short', () => {
    const pods = [podOf(0, busy(7)), podOf(1, busy(2)), podOf(2, busy(9))];
    expect(named(planClass(pictureOf({ pods, executing: 18, waiting: 50, allowance: 2 })))).toEqual({
      ...nothing,
      drains: [1],
    });
  });

  test('P4: a new template replaces one pod at a time, the idlest first, and waits for the class to be whole', () => {
    const pods = [podOf(0, { ...busy(5), fingerprint: 'old' }), podOf(1, { ...busy(1), fingerprint: 'old' })];
    expect(named(planClass(pictureOf({ pods, executing: 15 }))).drains).toEqual([1]);
    const halfway = [pods[0]!, podOf(1, { ...draining(1), fingerprint: 'old' })];
    expect(named(planClass(pictureOf({ pods: halfway, executing: 15 }))).drains).toEqual([]);
    const starting = [pods[0]!, { ...podOf(1), runner: undefined } as unknown as RunnerPodView];
    expect(named(planClass(pictureOf({ pods: starting, executing: 15 }))).drains).toEqual([]);
    const between = { pods: [pods[0]!], executing: 15 }; // the first is gone, the one in its place is not made yet
    expect(named(planClass(pictureOf(between))).drains).toEqual([]);
    expect(named(planClass(pictureOf({ ...between, createNotBeforeMs: NOW_MS + 10 }))).drains, 'none is taken').toEqual(
      [0],
    );
  });

  test('P4: an outdated pod that never connected goes at once: a broken template must not block its own repair', () => {
    const { runner: _, ...stuck } = podOf(0, { fingerprint: 'old', phase: 'Pending' });
    expect(named(planClass(pictureOf({ pods: [stuck], waiting: 1 }))).deletes).toEqual(['0 outdated']);
  });

  test('P2, P4: after a take-over, outdated or surplus pods that run and have not reported stay until they do', () => {
    const silent = [0, 1].map((ordinal) => {
      const { runner: _, ...pod } = podOf(ordinal, { fingerprint: 'old', isAwaited: true });
      return pod;
    });
    expect(named(planClass(pictureOf({ pods: silent })))).toEqual(nothing);
    expect(named(planClass(pictureOf({ pods: silent, isSuspended: true })))).toEqual(nothing);
    const reported = silent.map((pod) => ({ ...pod, isAwaited: false, ...busy(3) }));
    expect(named(planClass(pictureOf({ pods: reported, executing: 6 }))).drains).toEqual([0]);
  });

  test('P5: a Failed pod is deleted, and the next is made only after the back-off', () => {
    const { runner: _, ...failed } = podOf(0, { phase: 'Failed' });
    const plan = planClass(pictureOf({ pods: [failed], waiting: 1, createNotBeforeMs: NOW_MS + 10 }));
    expect(named(plan)).toEqual({ ...nothing, deletes: ['0 failed'] });
    expect(planClass(pictureOf({ waiting: 1, createNotBeforeMs: NOW_MS + 10 })).lookAgainAtMs).toBe(NOW_MS + 10);
  });

  test('P6: the smallest free ordinals are taken, and one picture gives one plan', () => {
    const picture = pictureOf({ pods: [podOf(1, busy(10))], executing: 10, waiting: 15 });
    expect(planClass(picture).creates).toEqual([0, 2]);
    expect(planClass(picture)).toEqual(planClass(picture));
  });

  test('a suspended Pipeline drains all its runners', () => {
    const picture = pictureOf({ pods: [podOf(0, busy(3)), podOf(1)], executing: 3, waiting: 9, isSuspended: true });
    expect(named(planClass(picture)).drains.sort()).toEqual([0, 1]);
  });

  test('P1, P2: whatever the picture, pods stay within their bounds and none that executes is deleted', () => {
    const podArb = fc.record({
      ordinal: fc.nat(9),
      executing: fc.nat(3),
      isDraining: fc.boolean(),
      isConnected: fc.boolean(),
      isDeleting: fc.boolean(),
      isOld: fc.boolean(),
      isFailed: fc.boolean(),
    });
    const arb = fc.record({
      pods: fc.uniqueArray(podArb, { selector: (p) => p.ordinal, maxLength: 6 }),
      max: fc.integer({ min: 1, max: 6 }),
      waiting: fc.nat(80),
      allowance: fc.option(fc.nat(6), { nil: undefined }),
    });
    fc.assert(
      fc.property(arb, ({ pods, max, waiting, allowance }) => {
        const views = pods.map(({ ordinal, executing, isDraining, isConnected, isDeleting, isOld, isFailed }) => {
          const runner = {
            executing,
            isDraining,
            isDrained: isDraining && executing === 0,
            ...(executing === 0 && { idleSinceMs: 0 }),
          };
          const { runner: _, ...bare } = podOf(ordinal, {
            fingerprint: isOld ? 'old' : 'now',
            isDeleting,
            phase: isFailed ? 'Failed' : 'Running',
          });
          return isConnected && !isFailed ? { ...bare, runner } : bare;
        });
        const executing = views.reduce((sum, pod) => sum + ('runner' in pod ? pod.runner.executing : 0), 0);
        const runner = classOf({ replicas: { min: 0, max } });
        const plan = planClass(
          pictureOf({ runner, pods: views, executing, waiting, ...(allowance !== undefined && { allowance }) }),
        );
        const bound = Math.max(views.length, Math.min(max, allowance ?? max));
        expect(views.length + plan.creates.length).toBeLessThanOrEqual(bound);
        for (const { pod } of plan.deletes) expect(pod.runner?.executing ?? 0).toBe(0);
        expect(new Set(plan.deletes.map(({ pod }) => pod.uid)).size).toBe(plan.deletes.length);
      }),
    );
  });
});
