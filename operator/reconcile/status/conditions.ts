// Conditions: what is so, why, and since when.
//   S1. `lastTransitionTime` changes exactly when `status` does; a new reason or message alone keeps it.
//   S2. The order is that of the table, so that equal pictures give equal text and nothing is written for nothing.
//   S3. `Reconciling` and `Stalled` stand only while they are true; all others stand from first sight.
//   S4. Runners that are added, or come back from zero, take no readiness away: a Pipeline that was ready stays so while they start.
import type { Condition, ConditionReason } from '../../../crds/schema/index.ts';
import { STATUS_MESSAGE_MAX } from '../../../crds/schema/index.ts';
import type { CommonPicture, LiveSourcePicture, PipelinePicture, Trouble } from './picture.ts';

interface Claim {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: ConditionReason;
  readonly message: string;
}

const yes = (reason: ConditionReason, message: string): Claim => ({ status: 'True', reason, message });
const no = (trouble: Trouble): Claim => ({ status: 'False', ...trouble });

/** Conditions of a Pipeline, in their order; `previous` gives the times. */
export function pipelineConditions(
  picture: PipelinePicture,
  previous: readonly Condition[],
  nowMs: number,
): Condition[] {
  const stalled = picture.refusal ?? stalling(picture.trouble) ?? stalling(troubleOfRunners(picture));
  const wasReady = previous.some(({ type, status }) => type === 'Ready' && status === 'True');
  return dated(
    {
      Ready: pipelineReady(picture, wasReady),
      Accepted: accepted(picture),
      RunnersAvailable: runnersAvailable(picture),
      Progressing: progressing(picture),
      Suspended: suspended(picture),
      ...reconciling(picture, picture.runners),
      ...(stalled && { Stalled: yes(stalled.reason, stalled.message) }),
    },
    picture.generation,
    previous,
    nowMs,
  );
}

/** Conditions of a LiveSource, in their order. */
export function liveSourceConditions(
  picture: LiveSourcePicture,
  previous: readonly Condition[],
  nowMs: number,
): Condition[] {
  const stalled = picture.refusal ?? stalling(picture.trouble);
  return dated(
    {
      Ready: liveSourceReady(picture),
      Accepted: accepted(picture),
      Connected: connected(picture),
      Synced: synced(picture),
      Degraded: degraded(picture),
      Suspended: suspended(picture),
      ...reconciling(picture, []),
      ...(stalled && { Stalled: yes(stalled.reason, stalled.message) }),
    },
    picture.generation,
    previous,
    nowMs,
  );
}

// ---- what holds for both -------------------------------------------------------------------------------------------

function accepted({ refusal }: CommonPicture): Claim {
  return refusal === undefined ? yes('Accepted', 'The spec makes sense.') : no(refusal);
}

function suspended({ isSuspended }: CommonPicture): Claim {
  if (isSuspended) return yes('Suspended', 'suspend is true: no run starts. Set it to false to go on.');
  return { status: 'False', reason: 'NotSuspended', message: 'suspend is false.' };
}

/** A change of the spec is being carried out: items by their fingerprints, pods one by one. */
function reconciling(
  { updates }: CommonPicture,
  runners: PipelinePicture['runners'],
): { readonly Reconciling?: Claim } {
  const edit = updates.find(({ trigger, result }) => trigger === 'edit' && result === 'Running');
  if (edit !== undefined)
    return { Reconciling: yes('UpdateRunning', `Update ${edit.name} brings items to what the spec says now.`) };
  const replaced = runners.find(({ outdated = 0 }) => outdated > 0);
  if (replaced === undefined) return {};
  const message = `Class ${replaced.name}: pods are replaced one by one by those of the new template.`;
  return { Reconciling: yes('RunnersStarting', message) };
}

/** Reasons that only a person can end. */
const FOR_PEOPLE: ReadonlySet<ConditionReason> = new Set<ConditionReason>([
  'DeleteGuard',
  'SourceRefused',
  'TargetRefused',
  'TemplateRefused',
  'SecretNotFound',
  'DeletionStuck',
]);
const stalling = (trouble: Trouble | undefined): Trouble | undefined =>
  trouble !== undefined && FOR_PEOPLE.has(trouble.reason) ? trouble : undefined;

const DELETING: Trouble = { reason: 'Deleting', message: 'The object is being deleted; its rows go first.' };

/** Whether runs wait, and for what: the scarcest first, since a run that waits for a runner or a card is not helped by a slot. */
export function waitingReason({ waitingFor }: CommonPicture): Trouble | undefined {
  const { runner, card, slot, backoff } = waitingFor;
  if (runner > 0) return { reason: 'WaitingForRunner', message: 'Runs wait for a runner of their class with room.' };
  if (card > 0) return { reason: 'WaitingForCard', message: 'Runs wait for a card, or a share of one.' };
  if (slot > 0)
    return { reason: 'WaitingForSlot', message: 'Runs wait for a slot; `fairlead why` names who is ahead.' };
  if (backoff > 0)
    return { reason: 'BackoffAfterFailure', message: 'Runs wait for their next attempt after a failure.' };
  return undefined;
}

// ---- Pipeline ------------------------------------------------------------------------------------------------------

/** S4. */
function pipelineReady(picture: PipelinePicture, wasReady: boolean): Claim {
  if (picture.isDeleting) return no(DELETING);
  if (picture.refusal) return no(picture.refusal);
  if (picture.isSuspended) return no({ reason: 'Suspended', message: 'suspend is true: no run starts.' });
  if (picture.trouble) return no(picture.trouble);
  const runners = runnersAvailable(picture);
  const isOnlyStarting = runners.reason === 'RunnersStarting';
  if (runners.status === 'False' && !(isOnlyStarting && (wasReady || canWork(picture)))) return runners;
  return yes('Ready', 'The index can follow its sources.');
}

/** Every class that is needed has a runner. */
const canWork = ({ runners }: PipelinePicture): boolean =>
  runners.every(({ desired, ready }) => desired === 0 || ready > 0);

function troubleOfRunners({ runners }: PipelinePicture): Trouble | undefined {
  for (const { name, trouble } of runners)
    if (trouble !== undefined) return { reason: trouble.reason, message: `Class ${name}: ${trouble.message}` };
  return undefined;
}

function runnersAvailable(picture: PipelinePicture): Claim {
  const { runners } = picture;
  const trouble = troubleOfRunners(picture);
  if (trouble !== undefined) return no(trouble);
  const starting = runners.find(({ desired, ready }) => ready < desired);
  if (starting !== undefined)
    return no({ reason: 'RunnersStarting', message: `Class ${starting.name}: pods of runners are starting.` });
  if (runners.every(({ desired }) => desired === 0)) return yes('ScaledToZero', 'No runner is needed now.');
  return yes('RunnersReady', 'All runners that are needed are ready.');
}

function progressing(picture: PipelinePicture): Claim {
  const waiting = waitingReason(picture);
  const isRunning = picture.updates.some(({ result }) => result === 'Running');
  if (waiting !== undefined) return yes(waiting.reason, waiting.message);
  return isRunning
    ? yes('UpdateRunning', 'An update runs.')
    : no({ reason: 'Idle', message: 'There is nothing to do.' });
}

// ---- LiveSource ----------------------------------------------------------------------------------------------------

const PIPELINE_TROUBLES: Readonly<Record<Exclude<LiveSourcePicture['pipeline'], 'ready'>, Trouble>> = {
  missing: {
    reason: 'PipelineNotFound',
    message: 'There is no Pipeline of the name in pipelineRef; create it, or correct the name.',
  },
  suspended: { reason: 'PipelineSuspended', message: 'The Pipeline is suspended.' },
  'not-ready': { reason: 'DependencyNotReady', message: 'The Pipeline is not ready; its own conditions say why.' },
};

function liveSourceReady(picture: LiveSourcePicture): Claim {
  if (picture.isDeleting) return no(DELETING);
  if (picture.refusal) return no(picture.refusal);
  if (picture.pipeline === 'missing') return no(PIPELINE_TROUBLES.missing);
  if (picture.isSuspended) return no({ reason: 'Suspended', message: 'suspend is true: no cycle starts.' });
  if (picture.pipeline !== 'ready') return no(PIPELINE_TROUBLES[picture.pipeline]);
  if (picture.trouble) return no(picture.trouble);
  if (picture.lastCycleAtMs === undefined) return firstCycle(picture);
  return yes('Ready', 'The source is followed.');
}

/** Before the first cycle listed to its end: what it waits for. */
function firstCycle(picture: LiveSourcePicture): Claim {
  const waiting = waitingReason(picture);
  const isRunning = picture.updates.some(({ result }) => result === 'Running');
  if (waiting !== undefined) return no(waiting);
  return isRunning
    ? no({ reason: 'UpdateRunning', message: 'The first cycle runs.' })
    : unknown('The first cycle has not begun.');
}

const unknown = (message: string): Claim => ({ status: 'Unknown', reason: 'NotYetKnown', message });

function connected({ trouble, checkedAtMs }: LiveSourcePicture): Claim {
  if (trouble && ['SourceUnreachable', 'SourceRefused', 'ListingFailed', 'SecretNotFound'].includes(trouble.reason))
    return no(trouble);
  return checkedAtMs === undefined
    ? unknown('The source was not asked yet.')
    : yes('Connected', 'The source answered.');
}

function synced(picture: LiveSourcePicture): Claim {
  if (picture.lastCycleAtMs === undefined) return unknown('No cycle has listed the source to its end yet.');
  if (picture.trouble?.reason === 'DeleteGuard') return no(picture.trouble);
  if (picture.items.pending > 0)
    return no(waitingReason(picture) ?? { reason: 'UpdateRunning', message: 'Items are still in the work list.' });
  if (picture.items.failed > 0)
    return no({ reason: 'ItemsFailed', message: 'Some items failed; they keep their old rows and are tried again.' });
  return yes('Synced', 'The targets show the last listing.');
}

function degraded({ items, storeTrouble }: LiveSourcePicture): Claim {
  if (storeTrouble !== undefined) return yes(storeTrouble.reason, storeTrouble.message);
  if (items.quarantined > 0)
    return yes(
      'ItemsQuarantined',
      'Some items took down too many runners and are left alone: `fairlead quarantine` lists them.',
    );
  if (items.failed > 0) return yes('ItemsFailed', 'Some items failed; `fairlead updates` shows why.');
  return no({ reason: 'Synced', message: 'No item failed.' });
}

// ---- times ---------------------------------------------------------------------------------------------------------

function dated(
  claims: Readonly<Record<string, Claim>>,
  generation: number,
  previous: readonly Condition[],
  nowMs: number,
): Condition[] {
  const before = new Map(previous.map((condition) => [condition.type, condition]));
  return Object.entries(claims).map(([type, { status, reason, message }]) => {
    const old = before.get(type);
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : timeText(nowMs); // S1
    return {
      type,
      status,
      reason,
      message: message.slice(0, STATUS_MESSAGE_MAX),
      lastTransitionTime,
      observedGeneration: generation,
    };
  });
}

/** Kubernetes' Time: whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
