// Why a runner pod is not at work, from what kubelets and schedulers say; and what proves that nothing of it runs any more.
import { describe, expect, test } from 'vitest';
import { isProvenEnded, type PodObject, podTrouble } from '../../operator/reconcile/index.ts';

const NOW_MS = Date.parse('2026-03-01T10:10:00Z');

const podOf = (status: PodObject['status'], more: Partial<PodObject> = {}): PodObject => ({
  metadata: { name: 'p', namespace: 'search', uid: 'u' },
  spec: { nodeName: 'node-a' },
  status: status ?? {},
  ...more,
});

type Container = NonNullable<NonNullable<PodObject['status']>['containerStatuses']>[number];
const container = (over: Partial<Container>): Container => ({ name: 'runner', ...over });
const waiting = (reason: string, message?: string) =>
  podOf({ containerStatuses: [container({ state: { waiting: { reason, ...(message && { message }) } } })] });
const scheduled = (status: 'True' | 'False', message = '', at = '2026-03-01T10:00:00Z') => ({
  type: 'PodScheduled',
  status,
  message,
  lastTransitionTime: at,
});

const CASES: Readonly<Record<string, { pod: PodObject; want: string | undefined; says?: string }>> = {
  'a pod that runs has none': {
    pod: podOf({ phase: 'Running', containerStatuses: [container({ state: {} })] }),
    want: undefined,
  },
  'a pod that is being deleted has none': {
    pod: podOf({ phase: 'Failed' }, { metadata: { name: 'p', deletionTimestamp: '2026-03-01T10:00:00Z' } }),
    want: undefined,
  },
  'no node has room': {
    pod: podOf({ phase: 'Pending', conditions: [scheduled('False', '0/3 nodes are available')] }, { spec: {} }),
    want: 'Unschedulable',
    says: '0/3 nodes are available',
  },
  'an image that cannot be pulled': {
    pod: waiting('ImagePullBackOff', 'not found'),
    want: 'ImagePullFailed',
    says: 'not found',
  },
  'an image that must be there and is not': { pod: waiting('ErrImageNeverPull'), want: 'ImagePullFailed' },
  'a Secret that a variable names and that is not there': {
    pod: waiting('CreateContainerConfigError', 'secret "x" not found'),
    want: 'SecretNotFound',
    says: 'secret "x" not found',
  },
  'a volume that has not come for ten minutes': {
    pod: podOf({
      conditions: [scheduled('True')],
      containerStatuses: [container({ state: { waiting: { reason: 'ContainerCreating' } } })],
    }),
    want: 'SecretNotFound',
    says: 'kubectl describe pod',
  },
  'a container that is being made since a moment': {
    pod: podOf({
      conditions: [scheduled('True', '', '2026-03-01T10:09:50Z')],
      containerStatuses: [container({ state: { waiting: { reason: 'ContainerCreating' } } })],
    }),
    want: undefined,
  },
  'a runner that ends again and again, with its last words': {
    pod: podOf({
      containerStatuses: [
        container({
          restartCount: 4,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { reason: 'Error', exitCode: 1, message: 'the database refuses the password' } },
        }),
      ],
    }),
    want: 'RunnerCrashLooping',
    says: 'the database refuses the password',
  },
  'a runner that was killed for memory and waits': {
    pod: podOf({
      containerStatuses: [
        container({
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } },
        }),
      ],
    }),
    want: 'RunnerOutOfMemory',
    says: 'raise the memory limit',
  },
  'one that was killed for memory and runs again has none': {
    pod: podOf({ containerStatuses: [container({ state: {}, lastState: { terminated: { reason: 'OOMKilled' } } })] }),
    want: undefined,
  },
  'an eviction': {
    pod: podOf({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }),
    want: 'RunnerCrashLooping',
    says: 'Evicted: The node was low on resource',
  },
  'a device that the node does not have any more': {
    pod: podOf({ phase: 'Failed', reason: 'UnexpectedAdmissionError' }),
    want: 'RunnerCrashLooping',
    says: 'it is replaced',
  },
  'a runner that ended with the reason why it could not begin': {
    pod: podOf({
      phase: 'Running',
      containerStatuses: [
        container({
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: {
            terminated: {
              reason: 'Error',
              exitCode: 1,
              message: '{"level":"info"}\nTargetRefused: target rows: table public.rows was not made by Fairlead\n',
            },
          },
        }),
      ],
    }),
    want: 'TargetRefused',
    says: 'table public.rows was not made by Fairlead',
  },
  'a runner that runs again after it could not begin': {
    pod: podOf({
      phase: 'Running',
      containerStatuses: [
        container({
          state: {},
          lastState: { terminated: { reason: 'Error', exitCode: 1, message: 'StateHeld: by a' } },
        }),
      ],
    }),
    want: undefined,
  },
};

describe('the trouble of a runner pod', () => {
  for (const [name, { pod, want, says = '' }] of Object.entries(CASES)) {
    test(name, () => {
      const trouble = podTrouble(pod, NOW_MS);
      expect(trouble?.reason).toBe(want);
      expect(trouble?.message ?? '').toContain(says);
    });
  }
});

describe('that nothing of a pod runs any more', () => {
  const terminated = container({ state: { terminated: { reason: 'Completed', exitCode: 0 } } });
  const running = container({ state: {} });
  test('is proven by its phase, by its containers, or by never having had a node', () => {
    expect(isProvenEnded(podOf({ phase: 'Failed' }))).toBe(true);
    expect(isProvenEnded(podOf({ phase: 'Running', containerStatuses: [terminated] }))).toBe(true);
    expect(isProvenEnded(podOf({ phase: 'Pending' }, { spec: {} }))).toBe(true);
  });
  test('is not proven by a delete by force: the node may not even know of it', () => {
    expect(isProvenEnded(podOf({ phase: 'Running', containerStatuses: [running] }))).toBe(false);
    expect(isProvenEnded(podOf({ phase: 'Running', containerStatuses: [terminated, running] }))).toBe(false);
    expect(isProvenEnded(podOf({ phase: 'Pending' }))).toBe(false);
  });
});
