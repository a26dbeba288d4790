// Status of both kinds: counts, never items.
//   S1. A status is at most 8 KiB of JSON (`fitStatus` makes it so), however many items there are.
//   S2. Nothing ticks: ages are kept as times, so that an idle object is never written (kubectl prints a time as its age).
import { z } from 'zod';
import { choice, int, listBy, name, object, patterned } from './fields.ts';

export const STATUS_MAX_BYTES = 8192;
/** Longest message of a condition or an update in characters. */
export const STATUS_MESSAGE_MAX = 512;
export const STATUS_UPDATES_MAX = 10;

const COUNT_MAX = Number.MAX_SAFE_INTEGER;
const count = (description: string) => int(description, 0, COUNT_MAX);
const counted = (description: string) => count(`${description} Absent: 0.`).optional();
const line = (description: string, max: number) => z.string().max(max).meta({ description });
const time = (description: string) =>
  z.iso.datetime({ offset: true }).meta({ description, crd: { type: 'string', format: 'date-time' } });

const generation = count('metadata.generation that this was made from.').optional();

const condition = object('A condition.', {
  type: patterned('Type, such as Ready.', 63, /^[A-Z][A-Za-z]*$/, 'must be one word in PascalCase'),
  status: choice('Whether it is so.', 'True', 'False', 'Unknown'),
  reason: patterned(
    'Why, in one word; the reference page lists all.',
    63,
    /^[A-Z][A-Za-z]*$/,
    'must be one word in PascalCase',
  ),
  message: line('Why, for people.', STATUS_MESSAGE_MAX),
  lastTransitionTime: time('When status changed last.'),
  observedGeneration: generation,
});

const conditions = listBy('What is so, and why.', 'type', condition, 0, 8).optional();

const slots = object('Slots of the admission tree.', {
  limit: counted('Slots in force: spec.maxInflightComponents, else the variable of the operator, else 1024.'),
  held: counted('Runs that execute.'),
  waiting: counted('Runs that wait.'),
  inFlight: counted('Runs that execute, and parents that wait for children.'),
}).optional();

const waitingFor = object('What the waiting runs wait for.', {
  slot: counted('Runs that wait for a slot.'),
  card: counted('Runs that wait for a card.'),
  runner: counted('Runs that wait for a runner of their class.'),
  backoff: counted('Runs whose next attempt waits after a failure.'),
}).optional();

const cards = object('Cards of the runners.', {
  total: counted('Cards of the runners that are there.'),
  heldMilli: counted('Shares that are held, in thousandths of a card.'),
  waiting: counted('Requests that wait.'),
  summary: line('Held of total, such as 1.5/4.', 32).optional(),
}).optional();

const items = object('Items, as the state knows them.', {
  total: counted('Items of the last listing, and those that are known beyond it.'),
  done: counted('Items whose rows the targets show.'),
  pending: counted('Items in the work list.'),
  failed: counted('Items whose last run failed.'),
  quarantined: counted('Items that are left alone after losing three runners.'),
  summary: line('Done of total, such as 1200/1500.', 48).optional(),
}).optional();

const freshness = object('How far the targets are behind.', {
  oldestChangeAt: time(
    'Time of the oldest source change that the targets do not show yet; its age is the freshness. Absent: they show all that is known.',
  ).optional(),
  checkedAt: time('When the source was last listed to its end, or its watcher last heard from.').optional(),
}).optional();

const counts = object('Counts of an update.', {
  unchanged: counted('Items that needed no run.'),
  added: counted('Items that are new.'),
  reprocessed: counted('Items that ran again.'),
  deleted: counted('Items that left.'),
  failed: counted('Items that failed.'),
  superseded: counted('Items that a newer update took over.'),
});

const update = object('An update.', {
  name: line('Name, as `fairlead updates` and traces have it.', 128),
  kind: choice('Pipeline, Cycle, or Key (one item).', 'Pipeline', 'Cycle', 'Key'),
  source: name('LiveSource. Absent: the Pipeline itself.').optional(),
  trigger: line('What started it, such as interval or refresh.', 63),
  result: choice('How it ended.', 'Running', 'Succeeded', 'CompletedWithErrors', 'Failed', 'Cancelled'),
  startedAt: time('When it started.'),
  endedAt: time('When it ended. Absent: it runs.').optional(),
  duration: line('How long it took. Go duration. Absent: it runs.', 32).optional(),
  waited: line('How long its runs waited for slots in all. Go duration.', 32).optional(),
  counts,
  traceId: patterned('Trace. Absent: not traced.', 32, /^[0-9a-f]{32}$/, 'must be 32 hex digits').optional(),
  message: line('What went wrong, for people. Absent: nothing.', STATUS_MESSAGE_MAX).optional(),
});

const updates = z
  .array(update)
  .max(STATUS_UPDATES_MAX)
  .meta({ description: 'The last updates, newest first.', 'x-kubernetes-list-type': 'atomic' })
  .optional();

const handled = object('Values of the trigger annotations that were handled last.', {
  refresh: line('Value of fairlead.dev/refresh.', 253).optional(),
  reprocess: line('Value of fairlead.dev/reprocess.', 253).optional(),
  allowDeletes: line('Value of fairlead.dev/allow-deletes.', 253).optional(),
  retryFailed: line('Value of fairlead.dev/retry-failed.', 253).optional(),
  repair: line('Value of fairlead.dev/repair; of a Pipeline only.', 253).optional(),
}).optional();

const failures = object('Failures in a row, so that back-off outlives a restart. Absent: none.', {
  count: counted('Failures in a row.'),
  lastAt: time('When the last one was.').optional(),
  nextAttemptAt: time('When the next attempt is.').optional(),
}).optional();

const runnerStatus = object('Pods of a class.', {
  name: name('Name of the class.'),
  desired: counted('Pods that there should be.'),
  ready: counted('Pods that are connected.'),
  draining: counted('Pods that take no new runs and go.'),
});

const common = {
  observedGeneration: generation,
  conditions,
  slots,
  waitingFor,
  cards,
  items,
  freshness,
  updates,
  handled,
  failures,
};

export const pipelineStatus = object('What is: written by the operator, never by users.', {
  ...common,
  runners: listBy('Runner pods by class.', 'name', runnerStatus, 0, 16).optional(),
  sources: counted('LiveSources that feed the Pipeline.'),
});

export const liveSourceStatus = object('What is: written by the operator, never by users.', {
  ...common,
  kind: line('Kind of source, such as git.', 32).optional(),
  revision: line('What the last listing was of, such as a commit.', 128).optional(),
  lastCycleAt: time('When the last cycle that listed to its end began. Absent: none did yet.').optional(),
  nextCycleAt: time('When the next cycle is due. Absent: not known.').optional(),
});

export type PipelineStatus = z.infer<typeof pipelineStatus>;
export type LiveSourceStatus = z.infer<typeof liveSourceStatus>;
export type Condition = z.infer<typeof condition>;
export type UpdateStatus = z.infer<typeof update>;
export type RunnerStatus = z.infer<typeof runnerStatus>;

/** A message cut to what a condition or an update may hold. */
export function clipMessage(message: string): string {
  const characters = [...message];
  return characters.length <= STATUS_MESSAGE_MAX ? message : `${characters.slice(0, STATUS_MESSAGE_MAX - 1).join('')}…`;
}

const sizeBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** S1: the same status within `STATUS_MAX_BYTES`, by dropping first the messages of updates, then the oldest updates. */
export function fitStatus<T extends { updates?: readonly UpdateStatus[] | undefined }>(status: T): T {
  if (sizeBytes(status) <= STATUS_MAX_BYTES) return status;
  let kept = (status.updates ?? []).map(({ message: _dropped, ...rest }) => rest);
  while (kept.length > 0 && sizeBytes({ ...status, updates: kept }) > STATUS_MAX_BYTES) kept = kept.slice(0, -1);
  return { ...status, updates: kept };
}
