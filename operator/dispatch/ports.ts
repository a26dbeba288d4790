// Ports of dispatch: what it tells others. Nothing here changes a decision.
import type { Census, RunNumber, RunnerStats, RunOutcome, RunTrace } from '../../runner/protocol/index.ts';
import type { UpdateEnding, UpdateView } from './update.ts';

/** A live run as events show it. */
export interface RunView {
  readonly number: RunNumber;
  readonly path: string;
  readonly kind: string;
  /** Class of runner that it needs; absent: any. */
  readonly runnerClass: string | undefined;
  /** Largest share of cards that its steps ask for, in thousandths. */
  readonly milliCards: number;
  readonly update: UpdateView;
  readonly parentRun?: RunNumber | undefined;
  /** Run that mounted it, while that one's attempt lasts. */
  readonly parent?: RunView | undefined;
  /** Key of the item within its source. */
  readonly key?: string | undefined;
  readonly attempt: number;
  readonly losses: number;
  readonly requestedAtMs: number;
  /** When the present attempt got its slot. */
  readonly grantedAtMs: number;
  /** Runner that the present attempt went to; absent: it waits for a slot. */
  readonly grantedTo?: string | undefined;
}

/** Why a run got its slot now. */
export interface GrantReason {
  /** The slot is its parent's. */
  readonly isLoan: boolean;
  readonly waitedMs: number;
  readonly runner: string;
  /** What the tree compared, level by level, for a run that waited; see `operator/admission`. */
  readonly compared?: unknown;
}

/** A share of cards that a body asked for, as events show it. */
export interface CardView {
  readonly runner: string;
  readonly run: RunNumber;
  /** Unique on its runner. */
  readonly ask: number;
  /** Name of the update that it counts for. */
  readonly update: string;
  readonly milli: number;
  /** Indices of its cards on the runner; empty while it waits. */
  readonly cards: readonly number[];
  readonly askedAtMs: number;
  readonly grantedAtMs: number | undefined;
}

/** Follows what dispatch does. Called in the middle of decisions: implementations only take notes. */
export interface DispatchEvents {
  updateOpened?(update: UpdateView): void;
  updateEnded?(update: UpdateView, ending: UpdateEnding): void;
  requested?(run: RunView): void;
  granted?(run: RunView, reason: GrantReason): void;
  /** The run is over, executed or not. `trace`: where its time went, if its runner chose to say. */
  ended?(run: RunView, outcome: RunOutcome, trace?: RunTrace): void;
  /** Its attempt ended; it asks again after `resumeAfterMs`. */
  parked?(run: RunView, outcome: RunOutcome & { readonly kind: 'parked' }, trace?: RunTrace): void;
  /** Its runner went away; it asks again. */
  lost?(run: RunView, runner: string): void;
  cardAsked?(card: CardView): void;
  cardGranted?(card: CardView): void;
  /** `bodyMs`: how long its body could use it; undefined where it was never granted, or its runner is gone. */
  cardReturned?(card: CardView, bodyMs: number | undefined): void;
  runnerJoined?(runner: string, runnerClass: string, slots: number): void;
  runnerLeft?(runner: string, why: 'removed' | 'lost'): void;
  /** What a runner counted since it said so last. */
  measured?(runner: string, stats: RunnerStats): void;
  /** A runner said what the state holds. */
  counted?(census: Census): void;
}

/** Slots held and runs that wait. */
export interface SlotCounts {
  readonly held: number;
  readonly waiting: number;
}

/** A Pipeline that is followed, as its follower may ask it. */
export interface Followed {
  readonly specs: { readonly slotsMax: number };
  readonly sources: Iterable<string>;
  /** Undefined: of the whole Pipeline. */
  activity(source: string | undefined): SlotCounts;
}

/** Follows one Pipeline from its start on, for metrics, traces and logs; never changes a decision. */
export interface Follower {
  readonly events: readonly DispatchEvents[];
  /** Trace context of an update that is about to open, or of one that is taken over; undefined: it is not traced. */
  traceparentOf(update: UpdateView): string | undefined;
  /** The Pipeline can be asked from now on. */
  attach(pipeline: Followed): void;
}
