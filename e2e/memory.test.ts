// A page that takes its runner down for want of memory, on a kubelet that kills: it is left alone after three runners, and stops no other.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from './support/database.ts';
import { usePlace } from './support/place.ts';
import { useRelease } from './support/release.ts';
import { Repository } from './support/repository.ts';
import { conditionOf, type Seen } from './support/watch.ts';

const SOURCE = { kind: 'livesources', name: 'docs' } as const;
const RUNNERS = { kind: 'pods', labels: 'app.kubernetes.io/component=runner' } as const;
const PAGES = 12;

useRelease({ replicas: 1 });
const place = usePlace('e2e-memory');
let database: Database;
let repository: Repository;

beforeAll(async () => {
  [database, repository] = await Promise.all([Database.serve(place), Repository.serve(place)]);
  await repository.commit('rope', PAGES);
  await place.apply({ file: 'manifests/flood.yaml' });
  await database.searchable('rope', PAGES);
});
afterAll(async () => {
  await database?.close();
});

const degraded = (holds: (reason: string | undefined) => boolean, what: string): Promise<readonly Seen[]> =>
  place.until(SOURCE, ([docs]) => holds(conditionOf(docs, 'Degraded')?.reason), what);

test('a page that takes down three runners is quarantined, and the pod says why it was restarted', async () => {
  await repository.commit('flood');
  const [docs] = await degraded((reason) => reason === 'ItemsQuarantined', 'the page is quarantined');
  expect(docs?.status?.items).toMatchObject({ quarantined: 1 });
  const [runner] = await place.list(RUNNERS);
  const [container] = runner?.status?.containerStatuses ?? [];
  expect(container?.restartCount).toBe(3);
  expect(container?.lastState?.terminated?.reason).toBe('OOMKilled');
});

test('pages beside it are indexed', async () => {
  await repository.commit('hawser', PAGES);
  await database.searchable('hawser', PAGES);
  expect(await database.rowsWith('flood')).toBe(0);
});

test('a new version of the page is indexed, and nothing is degraded any more', async () => {
  await repository.replace('flood', 'ebb');
  await database.searchable('ebb', 1);
  await degraded((reason) => reason !== 'ItemsQuarantined', 'no page is quarantined');
});
