// The Grafana dashboard of the chart, from one table of panels.
import type { MetricName } from './definitions.ts';

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly unit: 's' | 'short' | 'ops' | 'percentunit' | 'bytes';
  readonly about: string;
  readonly queries: readonly Query[];
}

const SCOPE = 'namespace=~"$namespace",pipeline=~"$pipeline"';

const gauge = (name: MetricName, legend: string, more = ''): Query => ({ expr: `${name}{${SCOPE}${more}}`, legend });
const rate = (name: MetricName, by: string, more = ''): Query => ({
  expr: `sum by (${by}) (rate(${name}{${SCOPE}${more}}[$__rate_interval]))`,
  legend: `{{${by}}}`,
});
const quantile = (q: number, name: MetricName): Query => ({
  expr: `histogram_quantile(${q}, sum by (le, kind) (rate(${name}_bucket{${SCOPE}}[$__rate_interval])))`,
  legend: `p${q * 100} {{kind}}`,
});

export const PANELS: readonly Panel[] = [
  {
    title: 'Freshness by source',
    unit: 's',
    about: 'Age of the oldest change that the targets do not show.',
    queries: [gauge('fairlead_freshness_seconds', '{{source}}', ',source!="*"')],
  },
  {
    title: 'Slots',
    unit: 'short',
    about: 'Held by source, beside the limit.',
    queries: [gauge('fairlead_slots_held', '{{source}}'), gauge('fairlead_slots_limit', 'limit')],
  },
  {
    title: 'Runs that wait',
    unit: 'short',
    about: 'By what for.',
    queries: [gauge('fairlead_runs_waiting', '{{reason}}')],
  },
  {
    title: 'Wait for a slot',
    unit: 's',
    about: 'From the request to the grant.',
    queries: [quantile(0.5, 'fairlead_run_wait_seconds'), quantile(0.99, 'fairlead_run_wait_seconds')],
  },
  {
    title: 'Time of runs',
    unit: 's',
    about: 'While they held their slot.',
    queries: [quantile(0.5, 'fairlead_run_seconds'), quantile(0.99, 'fairlead_run_seconds')],
  },
  {
    title: 'Grants',
    unit: 'ops',
    about: 'At once, after a wait, or on the slot of a parent.',
    queries: [rate('fairlead_grants_total', 'outcome')],
  },
  { title: 'Items', unit: 'ops', about: 'By what became of them.', queries: [rate('fairlead_items_total', 'result')] },
  {
    title: 'Tries that failed',
    unit: 'ops',
    about: 'And are made again, by class of failure.',
    queries: [rate('fairlead_retries_total', 'reason')],
  },
  {
    title: 'Requests of steps',
    unit: 'ops',
    about: 'To models and other servers, by how they ended.',
    queries: [rate('fairlead_calls_total', 'result')],
  },
  {
    title: 'Cards',
    unit: 'short',
    about: 'Held by source, there, and requests that wait.',
    queries: [
      gauge('fairlead_cards_held', '{{source}}'),
      gauge('fairlead_cards', 'there'),
      gauge('fairlead_card_requests_waiting', 'waiting'),
    ],
  },
  {
    title: 'Use of granted card time',
    unit: 'percentunit',
    about: 'Time of bodies in the time of grants.',
    queries: [
      {
        expr: `sum(rate(fairlead_card_busy_seconds_total{${SCOPE}}[$__rate_interval])) / sum(rate(fairlead_card_granted_seconds_total{${SCOPE}}[$__rate_interval]))`,
        legend: 'busy',
      },
    ],
  },
  { title: 'Runners', unit: 'short', about: 'By class.', queries: [gauge('fairlead_runners', '{{class}}')] },
  {
    title: 'Requests to the API server',
    unit: 'ops',
    about: 'By verb; idle cycles write nothing.',
    queries: [{ expr: 'sum by (verb) (rate(fairlead_api_requests_total[$__rate_interval]))', legend: '{{verb}}' }],
  },
  {
    title: 'Operator',
    unit: 's',
    about: 'Delay of the event loop, 99th percentile.',
    queries: [{ expr: 'fairlead_event_loop_delay_seconds', legend: '{{pod}}' }],
  },
];

const COLUMNS = 2;
const WIDTH = 12;
const HEIGHT = 8;
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

export function grafanaDashboard(): string {
  const panels = PANELS.map(({ title, unit, about, queries }, place) => ({
    id: place + 1,
    type: 'timeseries',
    title,
    description: about,
    datasource: DATASOURCE,
    gridPos: { x: (place % COLUMNS) * WIDTH, y: Math.floor(place / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
    })),
  }));
  const choice = (name: string, query: string) => ({
    name,
    type: 'query',
    datasource: DATASOURCE,
    query,
    includeAll: true,
    multi: true,
    refresh: 2,
    current: { text: 'All', value: '$__all' },
  });
  const list = [
    { name: 'datasource', type: 'datasource', query: 'prometheus' },
    choice('namespace', 'label_values(fairlead_slots_limit, namespace)'),
    choice('pipeline', 'label_values(fairlead_slots_limit{namespace=~"$namespace"}, pipeline)'),
  ];
  const dashboard = {
    uid: 'fairlead',
    title: 'Fairlead',
    tags: ['fairlead'],
    schemaVersion: 39,
    time: { from: 'now-6h', to: 'now' },
    refresh: '30s',
    templating: { list },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
