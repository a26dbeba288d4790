// What watches Fairlead from outside: a real OpenTelemetry Collector gets one whole trace for an update, and a real Prometheus scrapes the
// operator and evaluates the chart's alerts.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ReceivedSpan, shapeOf } from '../test/telemetry/receiver.ts';
import { Collector } from './support/collector.ts';
import { Database } from './support/database.ts';
import { Gate } from './support/gate.ts';
import { usePlace } from './support/place.ts';
import { Prometheus } from './support/prometheus.ts';
import { useRelease } from './support/release.ts';
import { Repository } from './support/repository.ts';
import type { UpdateSeen } from './support/watch.ts';

const NAMESPACE = 'e2e-telemetry';
const PAGES = 3;

useRelease({ replicas: 1, 'traces.endpoint': `http://otelcol.${NAMESPACE}:4318` });
const place = usePlace(NAMESPACE);
let collector: Collector;
let prometheus: Prometheus;
let database: Database;
let repository: Repository;
let gate: Gate;

beforeAll(async () => {
  [collector, prometheus, database, repository, gate] = await Promise.all([
    Collector.serve(place),
    Prometheus.serve(place),
    Database.serve(place),
    Repository.serve(place),
    Gate.serve(place),
  ]);
  await repository.commit('rope', PAGES);
  await place.apply({ file: 'manifests/index.yaml' });
  await database.searchable('rope', PAGES);
});
afterAll(async () => {
  prometheus?.stop();
  gate?.stop();
  await database?.close();
});

/** The update that indexed a number of pages, from the LiveSource's status. */
async function updateThatAdded(pages: number): Promise<UpdateSeen> {
  const isIt = ({ result, counts }: UpdateSeen) => result === 'Succeeded' && counts.added === pages;
  const [docs] = await place.until(
    { kind: 'livesources', name: 'docs' },
    ([source]) => source?.status?.updates?.some(isIt) === true,
    `an update that added ${pages} pages is in the status`,
  );
  return docs!.status!.updates!.find(isIt)!;
}

const nameOf = ({ name, attributes }: ReceivedSpan): string =>
  name === 'run item' ? `${name} ${attributes['fairlead.item.key']}` : name;

const item = (key: string) => [
  `run item ${key}`,
  ['commit'],
  ['read'],
  ['step embed'],
  ['step exec', ['call']],
  ['step read'],
  ['step split'],
];

test('an update is one whole trace at an OpenTelemetry Collector, by the id in the status', async () => {
  const { name, traceId } = await updateThatAdded(PAGES);
  const spans = await collector.traceOf(traceId ?? 'none');
  // How long items waited for a slot depends on the machine.
  const shape = shapeOf(
    spans.filter((span) => span.name !== 'wait'),
    traceId ?? 'none',
    nameOf,
  );
  const items = Array.from({ length: PAGES }, (_, i) => item(`pages/rope-${i + 1}.md`));
  expect(shape).toEqual([['update cycle', ['run cycle', ['list'], ...items]]]);
  const root = spans.find((span) => span.name === 'update cycle');
  expect(root?.attributes).toMatchObject({
    'k8s.namespace.name': NAMESPACE,
    'fairlead.pipeline.name': 'index',
    'fairlead.source.name': 'docs',
    'fairlead.update.name': name,
    'fairlead.items.added': PAGES,
  });
});

test('Prometheus scrapes the operator: freshness of the source, slots, items by result', async () => {
  const of = `{namespace="${NAMESPACE}",pipeline="index"`;
  await prometheus.answers('up{job="fairlead"}', ([up]) => up === 1);
  await prometheus.answers(`fairlead_freshness_seconds${of},source="docs"}`, ([seconds]) => seconds === 0);
  await prometheus.answers(`fairlead_items_total${of},source="docs",result="added"}`, ([items]) => items === PAGES);
  await gate.close();
  await repository.commit('hawser', PAGES);
  await gate.waiting(PAGES);
  await prometheus.answers(`sum(fairlead_slots_held${of}})`, ([held]) => held === PAGES);
  await prometheus.answers(`fairlead_freshness_seconds${of},source="docs"}`, ([seconds]) => (seconds ?? 0) > 0);
  await gate.open();
  await database.searchable('hawser', PAGES);
  await prometheus.answers(`fairlead_freshness_seconds${of},source="docs"}`, ([seconds]) => seconds === 0);
});

test("the chart's alerts are evaluated, and none fires while all is well", async () => {
  const { groups } = JSON.parse(readFileSync('charts/fairlead/files/alerts.json', 'utf8')) as {
    groups: { rules: { alert: string }[] }[];
  };
  const rules = await prometheus.rules();
  expect(rules.map(({ name }) => name)).toEqual(groups.flatMap((group) => group.rules.map(({ alert }) => alert)));
  for (const { name, health, state } of rules) {
    expect(health, `${name} can be evaluated`).toBe('ok');
    expect(state, `${name} does not fire`).not.toBe('firing');
  }
});
