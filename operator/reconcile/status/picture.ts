// What is known of a Pipeline or a LiveSource at one moment, from which its status is made. Times are milliseconds of the epoch.
import type { ConditionReason } from '../../../crds/schema/index.ts';
import type { UpdateRecord } from '../../host/index.ts';

/** Something that is not as it should be, in the words of the documented reasons. */
export interface Trouble {
  readonly reason: ConditionReason;
  /** What was wrong, where, what to do. */
  readonly message: string;
}

/** What both kinds have. */
export interface CommonPicture {
  readonly generation: number;
  readonly isSuspended: boolean;
  readonly isDeleting: boolean;
  /** Why the spec is not accepted; absent: it is. */
  readonly refusal?: Trouble;
  readonly slots: {
    readonly limit: number;
    readonly held: number;
    readonly waiting: number;
    readonly inFlight: number;
  };
  readonly waitingFor: {
    readonly slot: number;
    readonly card: number;
    readonly runner: number;
    readonly backoff: number;
  };
  readonly cards: { readonly total: number; readonly heldMilli: number; readonly waiting: number };
  readonly items: {
    readonly total: number;
    readonly done: number;
    readonly pending: number;
    readonly failed: number;
    readonly quarantined: number;
  };
  /** Time of the oldest change that the targets do not show. */
  readonly oldestChangeAtMs?: number;
  readonly checkedAtMs?: number;
  /** Newest first; any number, the status keeps ten. */
  readonly updates: readonly UpdateRecord[];
  readonly handled: {
    readonly refresh?: string;
    readonly reprocess?: string;
    readonly allowDeletes?: string;
    readonly retryFailed?: string;
    readonly repair?: string;
  };
  readonly failures?: { readonly count: number; readonly lastAtMs: number; readonly nextAttemptAtMs?: number };
}

export interface PipelinePicture extends CommonPicture {
  readonly sources: number;
  readonly runners: readonly {
    readonly name: string;
    readonly desired: number;
    readonly ready: number;
    readonly draining: number;
    /** Pods of an earlier template. */
    readonly outdated?: number;
    /** Why pods of the class are not there. */
    readonly trouble?: Trouble;
  }[];
  /** State store or targets that do not answer or refuse. */
  readonly trouble?: Trouble;
}

export interface LiveSourcePicture extends CommonPicture {
  readonly kind: string;
  readonly revision?: string;
  readonly lastCycleAtMs?: number;
  readonly nextCycleAtMs?: number;
  /** Whether its Pipeline is ready to work. */
  readonly pipeline: 'ready' | 'suspended' | 'not-ready' | 'missing';
  /** Why what its runs commit is not taken by the Pipeline's state store or targets. */
  readonly storeTrouble?: Trouble;
  /** The source's own trouble: it does not answer, it refuses, its listing broke off, the delete guard holds. */
  readonly trouble?: Trouble;
}
