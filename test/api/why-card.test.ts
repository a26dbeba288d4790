// `why` of a run whose call waits for a card: which share, on which runner, who holds it, who else waits.
import { expect, test } from 'vitest';
import { whyOf } from '../../operator/api/why.ts';
import { PipelineHost } from '../../operator/host/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { pipelineSpec, sourceSpec } from '../support/specs.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

test('a run that executes and waits for a share says so, with who holds the card', async () => {
  const clock = new VirtualClock();
  const source = sourceSpec();
  const pipeline = pipelineSpec();
  const sources = new Map(['docs', 'tickets'].map((name) => [name, source]));
  const host = new PipelineHost({
    name: 'search/index',
    clock,
    epoch: 1,
    specs: { generation: 1, pipeline, slotsMax: 8, sources },
  });
  host.start();
  const runner = new ScriptedRunner();
  const start = { name: 'pod-0/1', runnerClass: 'default', slots: 8, cards: 1, runner };
  runner.uplink = host.addRunner(start).uplink;
  await settle();
  const [docs, tickets] = [runner.runAt('docs'), runner.runAt('tickets')];
  for (const ask of [1, 2, 3]) runner.uplink.askCard(docs, ask, 500);
  runner.uplink.askCard(tickets, 4, 500);
  clock.advance(7_000);
  const says = whyOf(host, `${tickets}`, clock.nowMs()).runs[0]?.says ?? [];
  expect(says[0]).toMatch(/^it executes on pod-0\/1/);
  expect(says[1]).toMatch(
    /^its call waits for 500m of a card on pod-0\/1 since 7 s; held there: a card by docs-1-\d+; 1 other calls wait there$/,
  );
  runner.uplink.cardReturned(docs, 1, 1);
  expect(whyOf(host, `${tickets}`, clock.nowMs()).runs[0]?.says).toHaveLength(1);
  host.close();
});
