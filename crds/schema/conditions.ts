// Conditions and their reasons: part of the API, documented here and nowhere else.
// Both are written on first sight, as Unknown where nothing is known yet; `Reconciling` and `Stalled` stand only while true.

/** Condition types of a Pipeline. */
export const PIPELINE_CONDITIONS = {
  Ready: 'The index can follow its sources: accepted, not suspended, runners where they are needed.',
  Accepted: 'The spec makes sense beyond what the API server can check.',
  RunnersAvailable: 'Runners of every class that is needed now are there.',
  Progressing: 'An update runs.',
  Suspended: 'suspend is true: nothing starts.',
  Reconciling: 'The operator is carrying out a change of the spec. Present only while true.',
  Stalled: 'Only an edit by a person helps. Present only while true.',
} as const;

/** Condition types of a LiveSource. */
export const LIVE_SOURCE_CONDITIONS = {
  Ready: 'The source is followed: accepted, connected, its last cycle ended well.',
  Accepted: 'The spec makes sense beyond what the API server can check, and its Pipeline is there.',
  Connected: 'The source answered the last time that it was asked.',
  Synced: 'The targets show the source as it was listed last.',
  Degraded:
    'Items failed or are quarantined, and the others are up to date; or a store does not take what runs commit.',
  Suspended: 'suspend is true: nothing starts. A suspended Pipeline shows in Ready.',
  Reconciling: 'The operator is carrying out a change of the spec. Present only while true.',
  Stalled: 'Only an edit or a consent by a person helps. Present only while true.',
} as const;

/** Reasons of conditions, and what each says to a reader. */
export const REASONS = {
  // All is well.
  Ready: 'Nothing is wrong.',
  Accepted: 'The spec was accepted.',
  Synced: 'The targets show the last listing.',
  Connected: 'The source answered.',
  Idle: 'There is nothing to do.',
  UpdateRunning: 'An update runs.',
  RunnersReady: 'All runners that are needed are ready.',
  NotSuspended: 'suspend is false.',
  NotYetKnown: 'The operator has not looked yet.',
  // What work waits for.
  WaitingForSlot: 'Runs wait, and all slots are taken.',
  WaitingForCard: 'Runs wait for a card, or a share of one.',
  WaitingForRunner: 'Runs wait, and no runner of their class has room or is there.',
  BackoffAfterFailure: 'The next attempt waits after a failure; status.failures says until when.',
  DependencyNotReady: 'The Pipeline that the LiveSource names is not ready.',
  // Runner pods.
  RunnersStarting: 'Pods of runners are starting.',
  ScaledToZero: 'No runner is needed now.',
  Unschedulable: 'No node has room for a runner pod.',
  QuotaExceeded: 'A quota of the namespace refuses another pod.',
  ImagePullFailed: 'The image of a runner cannot be pulled.',
  RunnerCrashLooping: 'A runner pod ends again and again.',
  RunnerOutOfMemory: 'A runner pod was killed for memory.',
  TemplateRefused: 'The API server refuses the pod template of a class of runner.',
  WaitingForCards: 'The cards that runner pods need are held by others.',
  // The spec.
  InvalidSpec: 'The spec breaks a rule that the API server did not check.',
  PipelineNotFound: 'There is no Pipeline of the name that pipelineRef has.',
  SecretNotFound: 'A Secret, or a key in it, is not there.',
  // Sources, targets, state.
  SourceUnreachable: 'The source does not answer.',
  SourceRefused: 'The source refuses: credentials or rights.',
  ListingFailed: 'A listing did not end cleanly; nothing was deleted.',
  DeleteGuard: 'The cycle would delete more than deleteGuard allows and waits for consent.',
  TargetUnreachable: 'A target does not answer.',
  TargetRefused: 'A target refuses: credentials, rights, or a table that is not of Fairlead.',
  StateUnreachable: 'The state store does not answer.',
  StateHeld: 'Another process holds the state store.',
  ItemsFailed: 'Some items failed; they are tried again in the next cycle.',
  ItemsQuarantined: 'Some items took down too many runners and are left alone.',
  UpdateFailed: 'The last update failed as a whole.',
  // People's wishes.
  Suspended: 'suspend is true.',
  PipelineSuspended: 'The Pipeline is suspended.',
  Deleting: 'The object is being deleted; its rows go first.',
  DeletionStuck: 'Rows cannot be removed; the message says what to do.',
} as const;

export type PipelineConditionType = keyof typeof PIPELINE_CONDITIONS;
export type LiveSourceConditionType = keyof typeof LIVE_SOURCE_CONDITIONS;
export type ConditionReason = keyof typeof REASONS;
