// What both controllers share.
import type { RunnerPodSettings } from '../../blueprint/index.ts';
import type { Clock } from '../../clock.ts';
import type { Defer, Follower } from '../../dispatch/index.ts';
import type { PipelineHost } from '../../host/index.ts';
import type { CardOffice } from '../cards/office.ts';
import type { PipelineReader, SourceReader } from '../objects/read.ts';
import type { TriggerDesk } from '../objects/triggers.ts';
import type { Caches, Notes, StoredObject, Writes } from '../ports.ts';
import type { RunnerKeeper } from '../runners/keeper.ts';
import type { StatusWriter } from '../writer/status-writer.ts';
import type { Drops } from './drops.ts';
import type { HostTable } from './hosts.ts';

export interface ControlSettings {
  /** Leadership epoch. */
  readonly epoch: number;
  /** Environment, for FAIRLEAD_MAX_INFLIGHT_COMPONENTS. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly finalizerTimeoutMs: number;
  readonly runnerPod: () => RunnerPodSettings;
}

export interface ControlContext {
  readonly caches: Caches;
  readonly writes: Writes;
  readonly notes: Notes;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: ControlSettings;
  readonly hosts: HostTable;
  readonly statuses: StatusWriter;
  readonly keeper: RunnerKeeper;
  readonly cards: CardOffice;
  readonly pipelines: PipelineReader;
  readonly sources: SourceReader;
  readonly pipelineTriggers: TriggerDesk;
  readonly sourceTriggers: TriggerDesk;
  readonly drops: Drops;
  readonly defer?: Defer;
  /** Looks at an object soon. */
  readonly wakePipeline: (key: string) => void;
  readonly wakeSource: (key: string) => void;
  /** Runs of a Pipeline wait that did not, or its runners became idle or busy. */
  readonly demandChanged: (pipelineKey: string) => void;
  /** The specs of a hosted Pipeline changed: its runners are to be told. */
  readonly specsChanged: (pipelineKey: string) => void;
  /** A Pipeline is hosted from now on; called before any runner can join. */
  readonly hostOpened?: (pipelineKey: string, object: StoredObject, host: PipelineHost) => void;
  /** Metrics and traces of a Pipeline that is about to be hosted. */
  readonly follow?: (pipelineKey: string) => Follower;
  /** A hosted Pipeline is gone. */
  readonly hostClosed?: (pipelineKey: string) => void;
}
