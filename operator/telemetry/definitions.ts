// Every metric once: name, kind, unit, labels, meaning. `docs/reference/metrics.md` is generated from this table.
//   M1. Labels are bounded: namespace, Pipeline, LiveSource, class, reason, rule outcome. Never an item, a run or an update (F98).
//   M2. Names end in their unit, counters in `_total`.

import { COMMIT_BOUNDS } from '../../runner/protocol/index.ts';

export type Label =
  | 'namespace'
  | 'pipeline'
  | 'source'
  | 'class'
  | 'resource'
  | 'result'
  | 'reason'
  | 'kind'
  | 'outcome'
  | 'verb'
  | 'code'
  | 'queue';

interface Definition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly unit: string;
  readonly labels: readonly Label[];
  readonly help: string;
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

const PIPELINE = ['namespace', 'pipeline'] as const;
const SOURCE = ['namespace', 'pipeline', 'source'] as const;
/** From 1 ms to an hour, about two buckets a decade. */
const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3600];

export const METRICS = {
  fairlead_freshness_seconds: {
    kind: 'gauge',
    unit: 's',
    labels: SOURCE,
    help: 'Age of the oldest change of a LiveSource that the targets do not show yet; 0 when they show all that is known. Of a Pipeline with more than 100 sources: the 10 stalest by name, and the stalest of all as `*`.',
  },
  fairlead_source_checked_age_seconds: {
    kind: 'gauge',
    unit: 's',
    labels: SOURCE,
    help: 'Time since a LiveSource was last listed to its end, or its watcher last heard from.',
  },
  fairlead_slots_limit: { kind: 'gauge', unit: '', labels: PIPELINE, help: 'Slots of a Pipeline in force.' },
  fairlead_slots_held: {
    kind: 'gauge',
    unit: '',
    labels: SOURCE,
    help: 'Slots held; the source is empty for updates of the Pipeline itself.',
  },
  fairlead_runs_waiting: {
    kind: 'gauge',
    unit: '',
    labels: [...PIPELINE, 'reason'],
    help: 'Runs that wait, by what for: `slot`, `runner` (none of their class is there), `backoff`.',
  },
  fairlead_runs_in_flight: {
    kind: 'gauge',
    unit: '',
    labels: PIPELINE,
    help: 'Runs that execute, and parents that wait for children.',
  },
  fairlead_cards: { kind: 'gauge', unit: '', labels: PIPELINE, help: 'Cards of the runners that are there.' },
  fairlead_cards_held: { kind: 'gauge', unit: '', labels: SOURCE, help: 'Cards held, fractions included.' },
  fairlead_card_requests_waiting: {
    kind: 'gauge',
    unit: '',
    labels: PIPELINE,
    help: 'Requests for a card or a share of one that wait.',
  },
  fairlead_card_granted_seconds_total: {
    kind: 'counter',
    unit: 's',
    labels: PIPELINE,
    help: 'Time for which shares of cards were granted, times the share.',
  },
  fairlead_card_busy_seconds_total: {
    kind: 'counter',
    unit: 's',
    labels: PIPELINE,
    help: 'Of that, the time in which a body could use them; the rest went between runner and operator.',
  },
  fairlead_run_wait_seconds: {
    kind: 'histogram',
    unit: 's',
    labels: [...PIPELINE, 'kind'],
    help: 'Time from a request for a slot to its grant.',
    buckets: SECONDS,
  },
  fairlead_run_seconds: {
    kind: 'histogram',
    unit: 's',
    labels: [...PIPELINE, 'kind'],
    help: 'Time that runs held a slot, commit included.',
    buckets: SECONDS,
  },
  fairlead_grants_total: {
    kind: 'counter',
    unit: '',
    labels: [...PIPELINE, 'outcome'],
    help: 'Grants: `free` at once, `waited` after a wait, `loan` on the slot of a parent.',
  },
  fairlead_runs_total: {
    kind: 'counter',
    unit: '',
    labels: [...PIPELINE, 'kind', 'result'],
    help: 'Runs that ended, by how.',
  },
  fairlead_items_total: {
    kind: 'counter',
    unit: '',
    labels: [...SOURCE, 'result'],
    help: 'Items by what became of them: unchanged, added, reprocessed, deleted, failed, superseded.',
  },
  fairlead_updates_total: {
    kind: 'counter',
    unit: '',
    labels: [...SOURCE, 'kind', 'result'],
    help: 'Updates that ended, by how.',
  },
  fairlead_update_seconds: {
    kind: 'histogram',
    unit: 's',
    labels: [...PIPELINE, 'kind'],
    help: 'Time from the trigger of an update to its end.',
    buckets: SECONDS,
  },
  fairlead_retries_total: {
    kind: 'counter',
    unit: '',
    labels: [...PIPELINE, 'reason'],
    help: 'Tries that failed and are made again, inside of a run or after a back-off, by class of failure; `lost` is the loss of a runner.',
  },
  fairlead_runners: { kind: 'gauge', unit: '', labels: [...PIPELINE, 'class'], help: 'Runners that are connected.' },
  fairlead_runners_lost_total: {
    kind: 'counter',
    unit: '',
    labels: PIPELINE,
    help: 'Runners that went away with runs.',
  },
  fairlead_work_list_items: { kind: 'gauge', unit: '', labels: SOURCE, help: 'Items in the work list.' },
  fairlead_commit_components: {
    kind: 'histogram',
    unit: '',
    labels: PIPELINE,
    help: 'Components that one transaction committed.',
    buckets: COMMIT_BOUNDS,
  },
  fairlead_calls_total: {
    kind: 'counter',
    unit: '',
    labels: [...PIPELINE, 'result'],
    help: 'Requests of steps to something outside, by how they ended: `ok`, or the class of the failure.',
  },
  fairlead_api_requests_total: {
    kind: 'counter',
    unit: '',
    labels: ['verb', 'code'],
    help: 'Requests to the API server; code 0 is no answer.',
  },
  fairlead_api_request_seconds: {
    kind: 'histogram',
    unit: 's',
    labels: ['verb'],
    help: 'Time of requests to the API server.',
    buckets: SECONDS,
  },
  fairlead_status_writes_total: {
    kind: 'counter',
    unit: '',
    labels: [],
    help: 'Statuses written to the API server; idle cycles write none.',
  },
  fairlead_reconcile_queue_depth: {
    kind: 'gauge',
    unit: '',
    labels: ['queue'],
    help: 'Objects that wait to be reconciled.',
  },
  fairlead_reconcile_seconds: {
    kind: 'histogram',
    unit: 's',
    labels: ['queue', 'result'],
    help: 'Time of one reconciliation.',
    buckets: SECONDS,
  },
  fairlead_watch_missed_total: {
    kind: 'counter',
    unit: '',
    labels: ['kind'],
    help: 'Changes that a relist found and the watch had not told.',
  },
  fairlead_leader: { kind: 'gauge', unit: '', labels: [], help: '1 while this operator leads.' },
  fairlead_event_loop_delay_seconds: {
    kind: 'gauge',
    unit: 's',
    labels: [],
    help: '99th percentile of the delay of the event loop since the last scrape.',
  },
  fairlead_memory_bytes: {
    kind: 'gauge',
    unit: 'By',
    labels: ['kind'],
    help: 'Memory of this process: resident, heap.',
  },
} as const satisfies Readonly<Record<string, Definition>>;

export type MetricName = keyof typeof METRICS;
type OfKind<K> = { [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never }[MetricName];
export type CounterName = OfKind<'counter'>;
export type GaugeName = OfKind<'gauge'>;
export type HistogramName = OfKind<'histogram'>;
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof METRICS)[N]['labels'][number], string>>;

/** A metric as the registry sees it, whatever its name. */
export const definitionOf = (name: MetricName): Definition => METRICS[name];
