// What a scrape finds of the Pipelines. G1, G2: operator/telemetry/host-metrics.ts.
import { describe, expect, test } from 'vitest';
import {
  HostMetrics,
  type MeasuredHost,
  MetricRegistry,
  prometheusText,
  SOURCES_MAX,
  STALEST_NAMED,
} from '../../operator/telemetry/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NOTHING = { held: 0, waiting: 0, backoff: 0, inFlight: 0 };

/** A host whose source number `i` is `i` seconds behind and holds one slot. */
function hostOf(sources: number, nowMs: number, more: Partial<MeasuredHost> = {}): MeasuredHost {
  const names = Array.from({ length: sources }, (_, i) => `s${i}`);
  return {
    name: 'search/code',
    specs: { slotsMax: 64 },
    sources: names,
    activity: (source) =>
      source === undefined ? { held: sources + 2, waiting: 7, backoff: 3, inFlight: 9 } : { ...NOTHING, held: 1 },
    records: (source) => ({
      oldestChangeAtMs: nowMs - Number(source?.slice(1)) * 1_000,
      checkedAtMs: nowMs - 5_000,
      items: { pending: 2 },
    }),
    runners: [{ class: 'cpu', phase: 'serving', slots: 8 }],
    dispatcher: {
      cards: {
        snapshot: () => [{ heldMilli: 500 }, { heldMilli: 0 }],
        branches: () => [{ path: ['s1'], heldMilli: 500, waiting: 4 }],
      },
    },
    ...more,
  };
}

function scrape(hosts: (nowMs: number) => MeasuredHost[]) {
  const clock = new VirtualClock();
  clock.advance(1_000_000);
  const registry = new MetricRegistry(clock);
  const metrics = new HostMetrics(registry, clock);
  const text = (all = hosts(clock.nowMs())) => {
    metrics.observe(all);
    return prometheusText(registry);
  };
  return { text, registry };
}

const linesOf = (text: string, metric: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(`${metric}{`));

describe('gauges of Pipelines', () => {
  test('tell freshness by source, slots, what runs wait for, runners and cards', () => {
    const text = scrape((nowMs) => [hostOf(3, nowMs)]).text();
    const of = 'namespace="search",pipeline="code"';
    for (const line of [
      `fairlead_freshness_seconds{${of},source="s2"} 2`,
      `fairlead_source_checked_age_seconds{${of},source="s1"} 5`,
      `fairlead_slots_limit{${of}} 64`,
      `fairlead_slots_held{${of},source=""} 2`,
      `fairlead_slots_held{${of},source="s0"} 1`,
      `fairlead_runs_waiting{${of},reason="slot"} 7`,
      `fairlead_runs_waiting{${of},reason="runner"} 0`,
      `fairlead_runs_waiting{${of},reason="backoff"} 3`,
      `fairlead_runners{${of},class="cpu"} 1`,
      `fairlead_cards{${of}} 2`,
      `fairlead_cards_held{${of},source="s1"} 0.5`,
      `fairlead_card_requests_waiting{${of}} 4`,
      `fairlead_work_list_items{${of},source="s0"} 2`,
    ])
      expect(text).toContain(`${line}\n`);
  });

  test('runs wait for a runner where none serves', () => {
    const text = scrape((nowMs) => [hostOf(1, nowMs, { runners: [] })]).text();
    expect(text).toContain('reason="runner"} 7\n');
    expect(text).toContain('reason="slot"} 0\n');
  });

  test('G1: above a number of sources only the stalest have a name, and a sum stands for all', () => {
    const text = scrape((nowMs) => [hostOf(SOURCES_MAX + 50, nowMs)]).text();
    const freshness = linesOf(text, 'fairlead_freshness_seconds');
    expect(freshness).toHaveLength(STALEST_NAMED + 1);
    expect(freshness.some((line) => line.includes(`source="s${SOURCES_MAX + 49}"`))).toBe(true);
    expect(text).toContain(`source="*"} ${SOURCES_MAX + 49}\n`);
    expect(linesOf(text, 'fairlead_slots_held')).toHaveLength(2);
  });

  test('G2: a Pipeline that is gone leaves no series', () => {
    const { text } = scrape((nowMs) => [hostOf(3, nowMs)]);
    expect(linesOf(text(), 'fairlead_slots_held')).toHaveLength(4);
    expect(text([])).not.toContain('code');
  });
});
