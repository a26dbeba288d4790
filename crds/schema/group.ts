// Names that stand in the API: group, kinds, annotations, labels, finalizer.

export const GROUP = 'fairlead.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const CATEGORY = 'fairlead';

/** How each kind is called at the API server. */
export const KINDS = {
  Pipeline: { kind: 'Pipeline', plural: 'pipelines', shortNames: ['fpl'] },
  LiveSource: { kind: 'LiveSource', plural: 'livesources', shortNames: ['fls'] },
} as const;

export type KindName = keyof typeof KINDS;

/** Annotations that trigger. The value is any new text; it is handled once and echoed in `status.handled`. */
export const ANNOTATIONS = {
  refresh: `${GROUP}/refresh`,
  reprocess: `${GROUP}/reprocess`,
  allowDeletes: `${GROUP}/allow-deletes`,
  retryFailed: `${GROUP}/retry-failed`,
  repair: `${GROUP}/repair`,
} as const;

/** Annotations of events: the update that an event is about, and its trace. */
export const TRACE_ANNOTATIONS = {
  update: `${GROUP}/update`,
  traceId: `${GROUP}/trace-id`,
} as const;

export type TriggerName = keyof typeof ANNOTATIONS;

/** Holds an object until its rows are dealt with as `deletionPolicy` says. */
export const FINALIZER = `${GROUP}/rows`;

/** Labels of what the operator makes. Values are at most 63 characters; selectors use only these. */
export const LABELS = {
  pipeline: `${GROUP}/pipeline`,
  ownerUid: `${GROUP}/owner-uid`,
  runnerClass: `${GROUP}/runner-class`,
  leader: `${GROUP}/leader`,
} as const;
