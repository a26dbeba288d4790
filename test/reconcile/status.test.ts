// Pictures in, statuses out. S1 to S3 are the invariants at the head of operator/reconcile/status/conditions.ts.
import { describe, expect, test } from 'vitest';
import {
  liveSourceStatus as liveSourceSchema,
  pipelineStatus as pipelineSchema,
  STATUS_MAX_BYTES,
} from '../../crds/schema/status.ts';
import type { UpdateRecord } from '../../operator/host/index.ts';
import {
  type LiveSourcePicture,
  liveSourceStatus,
  type PipelinePicture,
  pipelineStatus,
} from '../../operator/reconcile/index.ts';
import { NO_COUNTS } from '../../runner/protocol/index.ts';

const AT_MS = Date.parse('2026-03-01T10:00:00Z');

const COMMON = {
  generation: 3,
  isSuspended: false,
  isDeleting: false,
  slots: { limit: 1024, held: 0, waiting: 0, inFlight: 0 },
  waitingFor: { slot: 0, card: 0, runner: 0, backoff: 0 },
  cards: { total: 0, heldMilli: 0, waiting: 0 },
  items: { total: 10, done: 10, pending: 0, failed: 0, quarantined: 0 },
  updates: [],
  handled: {},
} as const;

const PIPELINE: PipelinePicture = { ...COMMON, sources: 1, runners: [] };
const SOURCE: LiveSourcePicture = {
  ...COMMON,
  kind: 'git',
  pipeline: 'ready',
  checkedAtMs: AT_MS,
  lastCycleAtMs: AT_MS,
};

const runningUpdate: UpdateRecord = {
  name: 'docs-1-1',
  kind: 'cycle',
  source: 'docs',
  trigger: 'interval',
  result: 'Running',
  startedAtMs: AT_MS,
  counts: NO_COUNTS,
};

const short = (conditions: readonly { type: string; status: string; reason: string }[] | undefined) =>
  Object.fromEntries((conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]));

const PIPELINES: Record<string, { picture: PipelinePicture; want: Record<string, string> }> = {
  'all is well and nothing is to do': {
    picture: PIPELINE,
    want: {
      Ready: 'True Ready',
      Accepted: 'True Accepted',
      RunnersAvailable: 'True ScaledToZero',
      Progressing: 'False Idle',
    },
  },
  'a spec that is refused needs a person': {
    picture: { ...PIPELINE, refusal: { reason: 'InvalidSpec', message: 'spec.x: no' } },
    want: { Ready: 'False InvalidSpec', Accepted: 'False InvalidSpec', Stalled: 'True InvalidSpec' },
  },
  'pods that start for the first time': {
    picture: { ...PIPELINE, runners: [{ name: 'cpu', desired: 2, ready: 0, draining: 0 }] },
    want: { Ready: 'False RunnersStarting', RunnersAvailable: 'False RunnersStarting' },
  },
  'a class whose image cannot be pulled': {
    picture: {
      ...PIPELINE,
      runners: [
        {
          name: 'cpu',
          desired: 1,
          ready: 0,
          draining: 0,
          trouble: { reason: 'ImagePullFailed', message: 'pod a: no' },
        },
      ],
    },
    want: { Ready: 'False ImagePullFailed', RunnersAvailable: 'False ImagePullFailed' },
  },
  'runs that wait for a slot, with an update under way': {
    picture: {
      ...PIPELINE,
      updates: [runningUpdate],
      waitingFor: { slot: 3, card: 0, runner: 0, backoff: 0 },
    },
    want: { Ready: 'True Ready', Progressing: 'True WaitingForSlot' },
  },
  'runs that wait for a card and for a slot: the card is scarcer': {
    picture: { ...PIPELINE, waitingFor: { slot: 3, card: 1, runner: 0, backoff: 0 } },
    want: { Progressing: 'True WaitingForCard' },
  },
  suspended: {
    picture: { ...PIPELINE, isSuspended: true },
    want: { Ready: 'False Suspended', Suspended: 'True Suspended' },
  },
  'being deleted': { picture: { ...PIPELINE, isDeleting: true }, want: { Ready: 'False Deleting' } },
};

const SOURCES: Record<string, { picture: LiveSourcePicture; want: Record<string, string> }> = {
  'followed and in step': {
    picture: SOURCE,
    want: { Ready: 'True Ready', Connected: 'True Connected', Synced: 'True Synced', Degraded: 'False Synced' },
  },
  'without its Pipeline': { picture: { ...SOURCE, pipeline: 'missing' }, want: { Ready: 'False PipelineNotFound' } },
  'before its first cycle, with no runner': {
    picture: withoutCycle({ waitingFor: { slot: 0, card: 0, runner: 1, backoff: 0 } }),
    want: { Ready: 'False WaitingForRunner', Connected: 'Unknown NotYetKnown', Synced: 'Unknown NotYetKnown' },
  },
  'behind the delete guard': {
    picture: { ...SOURCE, trouble: { reason: 'DeleteGuard', message: '95 of 100' } },
    want: { Ready: 'False DeleteGuard', Synced: 'False DeleteGuard', Stalled: 'True DeleteGuard' },
  },
  'of a host that does not answer': {
    picture: { ...SOURCE, trouble: { reason: 'SourceUnreachable', message: 'connection refused' } },
    want: { Ready: 'False SourceUnreachable', Connected: 'False SourceUnreachable' },
  },
  'with failed items': {
    picture: { ...SOURCE, items: { total: 10, done: 8, pending: 0, failed: 2, quarantined: 0 } },
    want: { Ready: 'True Ready', Synced: 'False ItemsFailed', Degraded: 'True ItemsFailed' },
  },
  'with quarantined items': {
    picture: { ...SOURCE, items: { total: 10, done: 9, pending: 0, failed: 0, quarantined: 1 } },
    want: { Degraded: 'True ItemsQuarantined' },
  },
};

function withoutCycle(changes: Partial<LiveSourcePicture>): LiveSourcePicture {
  const { lastCycleAtMs: _, checkedAtMs: __, ...rest } = SOURCE;
  return { ...rest, ...changes };
}

test('S4: runners that are added, or come back from zero, take no readiness away', () => {
  const starting = (desired: number, ready: number): PipelinePicture => ({
    ...PIPELINE,
    runners: [{ name: 'default', desired, ready, draining: 0 }],
  });
  const of = (picture: PipelinePicture, previous?: ReturnType<typeof pipelineStatus>) =>
    short(pipelineStatus(picture, previous as never, AT_MS).conditions);
  expect(of(starting(3, 1))).toMatchObject({ Ready: 'True Ready', RunnersAvailable: 'False RunnersStarting' });
  expect(of(starting(1, 0))).toMatchObject({ Ready: 'False RunnersStarting' });
  const slept = pipelineStatus(starting(0, 0), undefined, AT_MS);
  expect(of(starting(1, 0), slept)).toMatchObject({ Ready: 'True Ready', RunnersAvailable: 'False RunnersStarting' });
});

test('S3: Reconciling stands while an edit is carried out, by its update and pod by pod, and then is gone', () => {
  const conditions = (picture: PipelinePicture) => short(pipelineStatus(picture, undefined, AT_MS).conditions);
  const runners = [{ name: 'default', desired: 2, ready: 2, draining: 1, outdated: 1 }];
  expect(conditions({ ...PIPELINE, updates: [{ ...runningUpdate, trigger: 'edit' }] })).toMatchObject({
    Reconciling: 'True UpdateRunning',
  });
  expect(conditions({ ...PIPELINE, runners })).toMatchObject({ Reconciling: 'True RunnersStarting' });
  expect(conditions({ ...PIPELINE, updates: [runningUpdate] })).not.toHaveProperty('Reconciling');
  expect(
    short(
      liveSourceStatus({ ...SOURCE, updates: [{ ...runningUpdate, trigger: 'edit' }] }, undefined, AT_MS).conditions,
    ),
  ).toMatchObject({
    Reconciling: 'True UpdateRunning',
  });
});

test('a target that refuses, or a state that another process holds, is said by the runner that could not begin', () => {
  const picture = (reason: 'TargetRefused' | 'TargetUnreachable'): PipelinePicture => ({
    ...PIPELINE,
    runners: [
      { name: 'default', desired: 1, ready: 0, draining: 0, trouble: { reason, message: 'pod a: table rows' } },
    ],
  });
  const of = (reason: 'TargetRefused' | 'TargetUnreachable') =>
    short(pipelineStatus(picture(reason), undefined, AT_MS).conditions);
  expect(of('TargetRefused')).toMatchObject({ Ready: 'False TargetRefused', Stalled: 'True TargetRefused' });
  expect(of('TargetUnreachable')).toMatchObject({ Ready: 'False TargetUnreachable' });
  expect(of('TargetUnreachable')).not.toHaveProperty('Stalled');
});

describe('the status of a Pipeline', () => {
  for (const [name, { picture, want }] of Object.entries(PIPELINES))
    test(name, () => expect(short(pipelineStatus(picture, undefined, AT_MS).conditions)).toMatchObject(want));
});

describe('the status of a LiveSource', () => {
  for (const [name, { picture, want }] of Object.entries(SOURCES))
    test(name, () => expect(short(liveSourceStatus(picture, undefined, AT_MS).conditions)).toMatchObject(want));
});

test('S1: lastTransitionTime moves when a condition flips, not when its reason or message changes', () => {
  const starting = { name: 'cpu', desired: 2, ready: 0, draining: 0 };
  const first = pipelineStatus({ ...PIPELINE, runners: [starting] }, undefined, AT_MS);
  const trouble = { reason: 'Unschedulable', message: 'no node' } as const;
  const second = pipelineStatus({ ...PIPELINE, runners: [{ ...starting, trouble }] }, first, AT_MS + 60_000);
  const third = pipelineStatus(PIPELINE, second, AT_MS + 120_000);
  const times = [first, second, third].map((status) => status.conditions?.[0]?.lastTransitionTime);
  expect(times).toEqual(['2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z', '2026-03-01T10:02:00Z']);
});

test('S2: nothing ticks: the same picture an hour later gives the same status', () => {
  const first = liveSourceStatus(SOURCE, undefined, AT_MS);
  expect(liveSourceStatus(SOURCE, first, AT_MS + 3_600_000)).toEqual(first);
});

test('S3: Stalled stands only while it is true', () => {
  const types = (picture: PipelinePicture) => Object.keys(short(pipelineStatus(picture, undefined, AT_MS).conditions));
  expect(types(PIPELINE)).not.toContain('Stalled');
  expect(types({ ...PIPELINE, refusal: { reason: 'InvalidSpec', message: 'a circle' } })).toContain('Stalled');
});

test('F92: a status with a million items and ten updates of long messages fits, and the schema takes it', () => {
  const updates = Array.from(
    { length: 30 },
    (_, at): UpdateRecord => ({
      ...runningUpdate,
      name: `docs-1-${at}`,
      result: 'Failed',
      endedAtMs: AT_MS + 90_000,
      waitedMs: 1_500,
      counts: { unchanged: 1e6, added: 1e6, reprocessed: 1e6, deleted: 1e6, failed: 1e3, superseded: 1e3 },
      message: 'ä'.repeat(2_000),
    }),
  );
  const items = { total: 1e6, done: 999_000, pending: 0, failed: 1_000, quarantined: 0 };
  const source = liveSourceStatus({ ...SOURCE, items, updates }, undefined, AT_MS);
  const runners = Array.from({ length: 16 }, (_, at) => ({ name: `class-${at}`, desired: 9, ready: 9, draining: 0 }));
  const pipeline = pipelineStatus({ ...PIPELINE, items, updates, runners }, undefined, AT_MS);
  for (const status of [source, pipeline]) expect(JSON.stringify(status).length).toBeLessThanOrEqual(STATUS_MAX_BYTES);
  expect(liveSourceSchema.safeParse(source).error).toBeUndefined();
  expect(pipelineSchema.safeParse(pipeline).error).toBeUndefined();
});

test('what is not known is absent, at all depths: an apply that empties an object is refused by the API server', () => {
  const status = liveSourceStatus(withoutCycle({}), undefined, AT_MS);
  expect(JSON.stringify(status)).not.toContain('{}');
  expect(status).not.toHaveProperty('freshness');
});
