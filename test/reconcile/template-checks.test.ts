// When the API server is asked about the pod of a class (K2 of operator/reconcile/runners/keeper.ts).
import { describe, expect, test } from 'vitest';
import type { PipelineHost } from '../../operator/host/index.ts';
import type { EventNote, KeptPipeline, Writes } from '../../operator/reconcile/index.ts';
import { podWish } from '../../operator/reconcile/runners/kept.ts';
import { TemplateChecks } from '../../operator/reconcile/runners/template-checks.ts';
import { RUNNER_POD } from '../support/operator.ts';
import { pipelineSpec } from '../support/specs.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

function checking(says: () => string | undefined) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const notes: EventNote[] = [];
  const writes = {
    checkPod: async ({ metadata }: Parameters<Writes['checkPod']>[0]) => {
      asked.push(metadata.name);
      return says();
    },
  } as unknown as Writes;
  const checks = new TemplateChecks({ clock, writes, notes: { record: (_, note) => notes.push(note) } });
  const spec = pipelineSpec();
  const object = { metadata: { name: 'index', namespace: 'search', uid: 'uid-1' } };
  const host = {} as PipelineHost;
  const kept: KeptPipeline = { object, spec, secrets: [], host, isSuspended: false, allowance: () => undefined };
  const refusal = (image = 'fairlead:test') => {
    const wish = podWish(kept, spec.runners[0]!, 0, { ...RUNNER_POD, image });
    return checks.refusal(kept, wish, new AbortController().signal);
  };
  return { clock, asked, notes, refusal };
}

describe('the pod of a class', () => {
  test('K2: one that the API server would take is asked about once, until it is to be another', async () => {
    const { asked, refusal } = checking(() => undefined);
    for (let look = 0; look < 3; look++) expect(await refusal()).toBeUndefined();
    expect(asked).toHaveLength(1);
    await refusal('fairlead:next');
    expect(asked).toHaveLength(2);
  });

  test('K2: one that it refuses is asked about again after a minute, since the namespace may have changed; people hear of it once', async () => {
    let answer: string | undefined = 'violates PodSecurity "restricted:latest"';
    const { clock, asked, notes, refusal } = checking(() => answer);
    for (let look = 0; look < 3; look++)
      expect(await refusal()).toMatchObject({ reason: 'TemplateRefused', message: expect.stringContaining(answer) });
    expect(asked).toHaveLength(1);
    clock.advance(60_000);
    await refusal();
    expect([asked.length, notes.length]).toEqual([2, 1]);
    answer = undefined;
    clock.advance(60_000);
    expect(await refusal()).toBeUndefined();
  });
});
