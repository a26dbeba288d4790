// Alert rules of the chart, from one table: what is wrong, for how long, and where to read what to do. docs/how-to/alerts.md explains each.
import type { MetricName } from './definitions.ts';

interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: 'warning' | 'critical';
  readonly summary: string;
  readonly description: string;
}

/** A metric in an expression; the type keeps to names that exist. */
const of = (name: MetricName, selector = ''): string => `${name}${selector}`;
const increase = (name: MetricName, window: string, selector = ''): string => `increase(${name}${selector}[${window}])`;

const PIPELINE = '{{ $labels.namespace }}/{{ $labels.pipeline }}';

export const ALERTS: readonly Alert[] = [
  {
    name: 'FairleadIndexStale',
    expr: `${of('fairlead_freshness_seconds', '{source!="*"}')} > 3600`,
    for: '10m',
    severity: 'warning',
    summary: `${PIPELINE}: {{ $labels.source }} is behind its source`,
    description: 'The oldest change that the targets do not show is {{ $value | humanizeDuration }} old.',
  },
  {
    name: 'FairleadSourceUnchecked',
    expr: `${of('fairlead_source_checked_age_seconds')} > 86400`,
    for: '10m',
    severity: 'warning',
    summary: `${PIPELINE}: {{ $labels.source }} was not listed to its end for long`,
    description: 'The last whole listing was {{ $value | humanizeDuration }} ago; changes may be missing.',
  },
  {
    name: 'FairleadUpdatesFail',
    expr: `sum by (namespace, pipeline, source) (${increase('fairlead_updates_total', '1h', '{result="Failed"}')}) > 2`,
    for: '5m',
    severity: 'warning',
    summary: `${PIPELINE}: updates of {{ $labels.source }} fail`,
    description: '{{ $value | humanize }} updates failed within an hour; the LiveSource names the reason.',
  },
  {
    name: 'FairleadItemsFail',
    expr: `sum by (namespace, pipeline, source) (${increase('fairlead_items_total', '1h', '{result="failed"}')}) > 100`,
    for: '15m',
    severity: 'warning',
    summary: `${PIPELINE}: many items of {{ $labels.source }} fail`,
    description: '{{ $value | humanize }} items failed within an hour; `fairlead updates` shows what with.',
  },
  {
    name: 'FairleadRunsWaitForRunners',
    expr: `${of('fairlead_runs_waiting', '{reason="runner"}')} > 0`,
    for: '15m',
    severity: 'critical',
    summary: `${PIPELINE}: runs wait and no runner is there`,
    description: '{{ $value | humanize }} runs wait; look at the pods of the Pipeline and at its conditions.',
  },
  {
    name: 'FairleadCardsMissing',
    expr: `${of('fairlead_card_requests_waiting')} > 0 and ${of('fairlead_cards')} == 0`,
    for: '15m',
    severity: 'warning',
    summary: `${PIPELINE}: steps wait for cards and none is there`,
    description: '{{ $value | humanize }} requests for a card wait.',
  },
  {
    name: 'FairleadRunnersLost',
    expr: `${increase('fairlead_runners_lost_total', '30m')} > 3`,
    for: '0m',
    severity: 'warning',
    summary: `${PIPELINE}: runners go away with their runs`,
    description: '{{ $value | humanize }} runners were lost within half an hour: out of memory, evictions, nodes.',
  },
  {
    name: 'FairleadNoLeader',
    expr: `sum(${of('fairlead_leader')}) < 1`,
    for: '5m',
    severity: 'critical',
    summary: 'no Fairlead operator leads',
    description: 'Nothing new starts; runs on runners go on.',
  },
  {
    name: 'FairleadApiServerErrors',
    expr: `sum(rate(${of('fairlead_api_requests_total', '{code=~"5..|429|0"}')}[5m])) / sum(rate(${of('fairlead_api_requests_total')}[5m])) > 0.05`,
    for: '15m',
    severity: 'warning',
    summary: 'requests to the API server fail',
    description: '{{ $value | humanizePercentage }} of the requests were refused or not answered.',
  },
  {
    name: 'FairleadWatchLosesChanges',
    expr: `${increase('fairlead_watch_missed_total', '1h')} > 0`,
    for: '0m',
    severity: 'warning',
    summary: 'a watch of {{ $labels.kind }} lost changes',
    description: 'A list found {{ $value | humanize }} changes that the watch had not told; they were healed.',
  },
  {
    name: 'FairleadEventLoopBlocked',
    expr: `${of('fairlead_event_loop_delay_seconds')} > 1`,
    for: '5m',
    severity: 'warning',
    summary: 'the operator {{ $labels.pod }} answers late',
    description: 'The event loop is {{ $value | humanizeDuration }} late in one of a hundred turns.',
  },
];

const RUNBOOK = 'https://github.com/fairlead/fairlead/blob/main/docs/how-to/alerts.md';

/** Rule groups as Prometheus reads them, in JSON, which is YAML. */
export function alertRules(): string {
  const rules = ALERTS.map(({ name, expr, for: lasting, severity, summary, description }) => ({
    alert: name,
    expr,
    for: lasting,
    labels: { severity },
    annotations: { summary, description, runbook_url: `${RUNBOOK}#${name.toLowerCase()}` },
  }));
  return `${JSON.stringify({ groups: [{ name: 'fairlead', rules }] }, null, 2)}\n`;
}
