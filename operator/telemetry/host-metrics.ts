// What a scrape finds of the Pipelines: gauges that are looked up at that moment, from what their hosts know.
//   G1. Series by source are bounded: a Pipeline with more than SOURCES_MAX sources has them summed up under the source `*`, and only its
//       STALEST_NAMED stalest ones by name.
//   G2. What is gone leaves no series: gauges are set anew at each scrape.
import type { Clock } from '../clock.ts';
import type { GaugeName, LabelsOf } from './definitions.ts';
import type { PipelineName } from './dispatch-metrics.ts';
import type { MetricRegistry } from './registry.ts';

export const SOURCES_MAX = 100;
export const STALEST_NAMED = 10;
/** Source label of the sum over all sources of a Pipeline. */
export const ALL_SOURCES = '*';

interface Activity {
  readonly held: number;
  readonly waiting: number;
  readonly backoff: number;
  readonly inFlight: number;
}

/** What metrics ask of a host. */
export interface MeasuredHost {
  /** "namespace/name". */
  readonly name: string;
  readonly specs: { readonly slotsMax: number };
  readonly sources: Iterable<string>;
  /** Undefined: of the whole Pipeline. */
  activity(source: string | undefined): Activity;
  records(source: string | undefined):
    | {
        readonly oldestChangeAtMs: number | undefined;
        readonly checkedAtMs: number | undefined;
        readonly items: { readonly pending: number };
      }
    | undefined;
  readonly runners: readonly { readonly class: string; readonly phase: string; readonly slots: number }[];
  readonly dispatcher: { readonly cards: MeasuredCards };
}

/** Cards as the dispatcher shows them. */
export interface MeasuredCards {
  snapshot(): readonly { readonly heldMilli: number }[];
  /** Outer branches before those below them. */
  branches(): readonly {
    readonly path: readonly string[];
    readonly heldMilli: number;
    readonly waiting: number;
  }[];
}

interface SourceGauges {
  readonly staleS: number;
  readonly checkedS: number | undefined;
  readonly held: number;
  readonly pending: number;
}

const GAUGES = [
  'fairlead_freshness_seconds',
  'fairlead_source_checked_age_seconds',
  'fairlead_slots_limit',
  'fairlead_slots_held',
  'fairlead_runs_waiting',
  'fairlead_runs_in_flight',
  'fairlead_cards',
  'fairlead_cards_held',
  'fairlead_card_requests_waiting',
  'fairlead_runners',
  'fairlead_work_list_items',
] as const satisfies readonly GaugeName[];

export class HostMetrics {
  readonly #registry: MetricRegistry;
  readonly #clock: Clock;

  constructor(registry: MetricRegistry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  observe(hosts: Iterable<MeasuredHost>): void {
    for (const name of GAUGES) this.#registry.clear(name); // G2
    for (const host of hosts) {
      const [namespace, pipeline] = host.name.split('/') as [string, string];
      const of = { namespace, pipeline };
      this.#pool(host, of);
      this.#sources(host, of);
      this.#runners(host, of);
      this.#cards(host, of);
    }
  }

  #pool(host: MeasuredHost, of: PipelineName): void {
    const { waiting, backoff, inFlight } = host.activity(undefined);
    const hasRoom = host.runners.some(({ phase }) => phase === 'serving');
    this.#set('fairlead_slots_limit', of, host.specs.slotsMax);
    this.#set('fairlead_runs_in_flight', of, inFlight);
    this.#set('fairlead_runs_waiting', { ...of, reason: 'slot' }, hasRoom ? waiting : 0);
    this.#set('fairlead_runs_waiting', { ...of, reason: 'runner' }, hasRoom ? 0 : waiting);
    this.#set('fairlead_runs_waiting', { ...of, reason: 'backoff' }, backoff);
  }

  /** G1. */
  #sources(host: MeasuredHost, of: PipelineName): void {
    const all = [...host.sources].map((source) => [source, this.#gaugesOf(host, source)] as const);
    const bySources = all.reduce((sum, [, { held }]) => sum + held, 0);
    this.#set('fairlead_slots_held', { ...of, source: '' }, host.activity(undefined).held - bySources);
    if (all.length <= SOURCES_MAX) {
      for (const [source, gauges] of all) this.#source({ ...of, source }, gauges);
      return;
    }
    const byStaleness = all.sort(([, a], [, b]) => b.staleS - a.staleS);
    for (const [source, { staleS }] of byStaleness.slice(0, STALEST_NAMED))
      this.#set('fairlead_freshness_seconds', { ...of, source }, staleS);
    this.#source({ ...of, source: ALL_SOURCES }, summed(all.map(([, gauges]) => gauges)));
  }

  #gaugesOf(host: MeasuredHost, source: string): SourceGauges {
    const records = host.records(source);
    const nowMs = this.#clock.nowMs();
    const ageS = (sinceMs: number): number => Math.max(0, nowMs - sinceMs) / 1000;
    return {
      staleS: records?.oldestChangeAtMs === undefined ? 0 : ageS(records.oldestChangeAtMs),
      checkedS: records?.checkedAtMs === undefined ? undefined : ageS(records.checkedAtMs),
      held: host.activity(source).held,
      pending: records?.items.pending ?? 0,
    };
  }

  #source(labels: PipelineName & { readonly source: string }, { staleS, checkedS, held, pending }: SourceGauges): void {
    this.#set('fairlead_freshness_seconds', labels, staleS);
    if (checkedS !== undefined) this.#set('fairlead_source_checked_age_seconds', labels, checkedS);
    this.#set('fairlead_slots_held', labels, held);
    this.#set('fairlead_work_list_items', labels, pending);
  }

  #runners({ runners }: MeasuredHost, of: PipelineName): void {
    const counts = new Map<string, number>();
    for (const { class: name } of runners) counts.set(name, (counts.get(name) ?? 0) + 1);
    for (const [name, count] of counts) this.#set('fairlead_runners', { ...of, class: name }, count);
  }

  /** Held by source where they are few; what updates of the Pipeline itself hold has no source. */
  #cards({ dispatcher: { cards }, sources }: MeasuredHost, of: PipelineName): void {
    const outer = cards.branches().filter(({ path }) => path.length === 1);
    const names = new Set(sources);
    const heldMilli = new Map<string, number>();
    let waiting = 0;
    for (const branch of outer) {
      const [name = ''] = branch.path;
      const source = !names.has(name) ? '' : names.size > SOURCES_MAX ? ALL_SOURCES : name;
      heldMilli.set(source, (heldMilli.get(source) ?? 0) + branch.heldMilli);
      waiting += branch.waiting;
    }
    for (const [source, milli] of heldMilli) this.#set('fairlead_cards_held', { ...of, source }, milli / 1000);
    this.#set('fairlead_cards', of, cards.snapshot().length);
    this.#set('fairlead_card_requests_waiting', of, waiting);
  }

  #set<N extends (typeof GAUGES)[number]>(name: N, labels: LabelsOf<N>, value: number): void {
    this.#registry.setGauge(name, labels, value);
  }
}

/** The stalest, the longest unchecked, and sums. */
function summed(all: readonly SourceGauges[]): SourceGauges {
  const checked = all.flatMap(({ checkedS }) => checkedS ?? []);
  return {
    staleS: all.reduce((max, { staleS }) => Math.max(max, staleS), 0),
    checkedS: checked.length === 0 ? undefined : checked.reduce((a, b) => Math.max(a, b)),
    held: all.reduce((sum, { held }) => sum + held, 0),
    pending: all.reduce((sum, { pending }) => sum + pending, 0),
  };
}
