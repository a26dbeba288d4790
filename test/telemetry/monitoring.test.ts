// What the chart monitors: every metric in alerts and dashboard exists, and Prometheus itself takes the rules and the served text.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  ALERTS,
  alertRules,
  definitionOf,
  grafanaDashboard,
  METRICS,
  type MetricName,
  Telemetry,
} from '../../operator/telemetry/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
if (!hasPromtool)
  process.stderr.write('promtool is not here (Debian: prometheus): rules and metrics are not checked by it\n');

const promtool = (args: readonly string[], input?: string) =>
  spawnSync('promtool', args, { encoding: 'utf8', ...(input !== undefined && { input }) });

/** Names of metrics in expressions, without what histograms add to theirs. */
function metricsIn(text: string): string[] {
  const names = text.match(/fairlead_[a-z_]+/g) ?? [];
  return [...new Set(names)].map((name) => (name in METRICS ? name : name.replace(/_(bucket|sum|count)$/, '')));
}

describe('alerts and the dashboard', () => {
  test('name only metrics that exist', () => {
    for (const text of [ALERTS.map(({ expr }) => expr).join(), grafanaDashboard()])
      for (const name of metricsIn(text)) expect(Object.keys(METRICS)).toContain(name);
  });

  test('show every metric that a Pipeline has of its own', () => {
    const shown = new Set(metricsIn(grafanaDashboard() + alertRules()));
    const own = (Object.keys(METRICS) as MetricName[]).filter((name) => definitionOf(name).labels.includes('pipeline'));
    const quiet = [
      'fairlead_runs_in_flight',
      'fairlead_runs_total',
      'fairlead_update_seconds',
      'fairlead_work_list_items',
    ];
    expect(own.filter((name) => !shown.has(name) && !quiet.includes(name))).toEqual(['fairlead_commit_components']);
  });

  test('each alert has a page that says what to do', () => {
    const page = readFileSync(new URL('../../docs/how-to/alerts.md', import.meta.url), 'utf8');
    for (const { name } of ALERTS) expect(page).toContain(`\n## ${name}\n`);
  });

  test.skipIf(!hasPromtool)('the rules are as Prometheus takes them', () => {
    const rules = new URL('../../charts/fairlead/files/alerts.json', import.meta.url).pathname;
    const { status, stdout, stderr } = promtool(['check', 'rules', rules]);
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toContain(`${ALERTS.length} rules found`);
  });

  test.skipIf(!hasPromtool)('what is served is as Prometheus reads it', () => {
    const telemetry = new Telemetry({ clock: new VirtualClock() });
    for (const name of Object.keys(METRICS) as MetricName[]) fill(telemetry, name);
    telemetry.close();
    const { stdout, stderr } = promtool(['check', 'metrics'], telemetry.metricsText());
    const complaints = (stdout + stderr).split('\n').filter((line) => line !== '');
    expect(complaints).toEqual([]);
  });
});

/** One series of a metric. */
function fill({ registry }: Telemetry, name: MetricName): void {
  const { kind, labels } = definitionOf(name);
  const values = Object.fromEntries(labels.map((label) => [label, 'a'])) as never;
  if (kind === 'counter') registry.counter(name as never, values).add(1);
  else if (kind === 'gauge') registry.setGauge(name as never, values, 1);
  else registry.histogram(name as never, values).record(1);
}
