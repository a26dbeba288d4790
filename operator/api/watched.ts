// What the API looks at: a Pipeline at work, in a cluster, under a standalone operator or in `fairlead dev`.
import type { Dispatcher } from '../dispatch/index.ts';
import type { HostSpecs, PipelineHost } from '../host/index.ts';

export interface Watched
  extends Pick<
    PipelineHost,
    'name' | 'runners' | 'cards' | 'sources' | 'records' | 'activity' | 'nextCycleAtMs' | 'ask'
  > {
  readonly specs: Pick<HostSpecs, 'pipeline' | 'slotsMax' | 'sources'>;
  readonly recent: Pick<PipelineHost['recent'], 'history' | 'failures'>;
  readonly dispatcher: Pick<Dispatcher, 'snapshot' | 'run' | 'findRuns' | 'explain' | 'updates' | 'cards'>;
}
