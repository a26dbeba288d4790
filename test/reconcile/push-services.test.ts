// When the Service of push sources is applied (operator/reconcile/controllers/push-services.ts).
import { expect, test } from 'vitest';
import { PushServices } from '../../operator/reconcile/controllers/push-services.ts';
import type { EventNote, Writes } from '../../operator/reconcile/index.ts';
import { sourceSpec } from '../support/specs.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const PUSH = sourceSpec({
  mode: 'Watch',
  interval: undefined,
  source: { push: { secretFrom: { secretKeyRef: { name: 'key', key: 'key' } } } },
});
const GIT = sourceSpec();
const OBJECT = { metadata: { name: 'index', namespace: 'search', uid: 'uid-1' } };

function services(says: () => string | undefined = () => undefined) {
  const clock = new VirtualClock();
  const applied: string[] = [];
  const notes: EventNote[] = [];
  const writes: Pick<Writes, 'applyService'> = {
    applyService: async ({ metadata }) => {
      applied.push(`${metadata.namespace}/${metadata.name}`);
      return says();
    },
  };
  const made = new PushServices({ clock, writes, notes: { record: (_, note) => notes.push(note) } });
  const keep = (...sources: (typeof GIT)[]) => made.keep(OBJECT, sources, new AbortController().signal);
  return { clock, applied, notes, keep, made };
}

test('looks of a Pipeline do not apply it each time, and one that somebody took away is back after a while', async () => {
  const { clock, applied, keep } = services();
  for (let look = 0; look < 3; look++) await keep(GIT, PUSH);
  expect(applied).toEqual(['search/push-index']);
  clock.advance(600_000);
  await keep(GIT, PUSH);
  expect(applied).toHaveLength(2);
});

test('a Pipeline without a push source has none', async () => {
  const { applied, keep } = services();
  await keep(GIT);
  expect(applied).toEqual([]);
});

test('a refusal is told once, however often it comes, and is no reason to ask more often', async () => {
  const { clock, applied, notes, keep } = services(() => 'conflict with "kubectl"');
  for (let look = 0; look < 3; look++) await keep(PUSH);
  clock.advance(600_000);
  await keep(PUSH);
  expect(applied).toHaveLength(2);
  expect(notes).toMatchObject([
    { type: 'Warning', reason: 'PushServiceRefused', note: expect.stringContaining('conflict') },
  ]);
});

test('a Pipeline that is made anew under its name has its own', async () => {
  const { applied, keep, made } = services();
  await keep(PUSH);
  made.forget('uid-1');
  await keep(PUSH);
  expect(applied).toHaveLength(2);
});
