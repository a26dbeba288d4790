// What all runs of an engine share.
import type { Clock } from '../clock.ts';
import type { Uplink } from '../protocol/index.ts';
import type { Hide } from '../secrets.ts';
import type { Batcher } from './batch.ts';
import type { CardDesk } from './cards.ts';
import type { Caution } from './caution.ts';
import type { CensusTaker } from './census-taker.ts';
import type { Choice } from './choice.ts';
import type { Committer } from './commit.ts';
import type { LiveSettings } from './live.ts';
import type { LostRows } from './lost-rows.ts';
import type { MemoSources } from './memo.ts';
import type { Meter } from './meter.ts';
import type { Notes } from './notes.ts';
import type { CompiledPlan } from './plan.ts';
import type {
  CommitResult,
  ComponentRef,
  Intent,
  MemoEntry,
  Opened,
  SourcePlan,
  StateStore,
  WorkEntry,
} from './ports.ts';
import type { Sweeper } from './sweeper.ts';
import type { Turns } from './turns.ts';
import type { Worker } from './worker.ts';

export interface Services {
  readonly state: StateStore;
  /** Set when the engine is connected. */
  uplink: Uplink;
  readonly clock: Clock;
  readonly random: () => number;
  readonly plan: CompiledPlan;
  readonly sources: ReadonlyMap<string, SourcePlan>;
  /** What a run finds in the state, gathered over runs. */
  readonly opener: Batcher<ComponentRef, Opened>;
  /** Of runs that are about to mount components, gathered over runs. */
  readonly intents: Batcher<Intent, CommitResult>;
  readonly committer: Committer;
  readonly census: CensusTaker;
  readonly memo: MemoSources;
  readonly cards: CardDesk;
  readonly live: LiveSettings;
  readonly sweeper: Sweeper;
  readonly lostRows: LostRows;
  readonly notes: Notes;
  /** What is kept elsewhere of a source, or of the Pipeline, that was dropped goes too. */
  readonly forget: (source: string | undefined) => Promise<void>;
  /** Takes secrets out of texts for people. */
  readonly hide: Hide;
  /** Which traced runs tell where their time went. */
  readonly choice: Choice;
  readonly meter: Meter;
  /** Of the updates whose root run executes here, by update. */
  readonly workers: Map<string, Worker>;
  /**
   * Work of mounted runs whose item the state did not know when the run's own update entered it, by path: such a run need not ask. Should
   * that have changed, its commit finds the record moved.
   */
  readonly fresh: Map<string, WorkEntry>;
  readonly caution: Caution;
  /** Listings of one source take turns. */
  readonly listings: Turns;
  /** Keeps results of attempts that did not commit; never rejects. */
  keep(entries: readonly MemoEntry[]): Promise<void>;
}
