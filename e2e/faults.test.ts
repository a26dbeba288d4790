// What happens to running updates when something of Fairlead goes. Each update is held at the gate while the fault is made, so the fault
// meets runs that execute; afterwards the rows are complete, and the gate says what ran twice. Each scenario builds on the one before.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Database } from './support/database.ts';
import { Gate } from './support/gate.ts';
import { signal } from './support/node.ts';
import { usePlace } from './support/place.ts';
import { kubectl, run } from './support/programs.ts';
import { useRelease } from './support/release.ts';
import { Repository } from './support/repository.ts';
import { isLiving, isTrue, type Seen, uidsOf } from './support/watch.ts';

/** Two runners of four slots. */
const SLOTS = 8;
const PAGES = 12;
const RUNNERS = { kind: 'pods', labels: 'app.kubernetes.io/component=runner' } as const;

const release = useRelease({ replicas: 1 });
const place = usePlace('e2e-faults');
let database: Database;
let repository: Repository;
let gate: Gate;

beforeAll(async () => {
  [database, repository, gate] = await Promise.all([Database.serve(place), Repository.serve(place), Gate.serve(place)]);
  await repository.commit('rope', 40);
  await place.apply({ file: 'manifests/index.yaml' });
});
afterEach(async () => {
  await gate.open();
});
afterAll(async () => {
  gate?.stop();
  await database?.close();
});

/** Commits pages, holds their runs at the gate while `fault` happens, and waits until all pages are searchable. */
async function duringAnUpdate(word: string, fault: () => Promise<void>): Promise<Readonly<Record<string, number>>> {
  await gate.close();
  await repository.commit(word, PAGES);
  await gate.waiting(SLOTS);
  await fault();
  await gate.open();
  await database.searchable(word, PAGES);
  return gate.asked(word);
}

/** Every page, asked for once. */
const onceEach = (word: string): Record<string, number> =>
  Object.fromEntries(Array.from({ length: PAGES }, (_, i) => [`${word} ${i + 1}`, 1]));

const runnersReady = (but: readonly string[] = []): Promise<readonly Seen[]> =>
  place.until(
    RUNNERS,
    (pods) =>
      pods.length === 2 &&
      pods.every((pod) => pod.status?.phase === 'Running' && isLiving(pod) && !but.includes(pod.metadata.uid)),
    'two runner pods run',
  );

const deletePod = ({ metadata }: Seen, ...how: string[]): Promise<string> =>
  kubectl('delete', 'pod', '-n', metadata.namespace ?? '', metadata.name, '--wait=false', ...how);

/** The LiveSource, once the targets show its last listing. */
async function synced(): Promise<Seen> {
  const where = { kind: 'livesources', name: 'docs' } as const;
  const holds = ([docs]: readonly Seen[]) => isTrue(docs, 'Ready') && isTrue(docs, 'Synced');
  return (await place.until(where, holds, 'docs is Ready and Synced'))[0]!;
}

test('an index is made in a namespace with restricted Pod Security, and its LiveSource becomes Ready and Synced', async () => {
  await synced();
  expect(await database.rowsWith('rope')).toBe(40);
});

test('a commit to the repository becomes searchable', async () => {
  await repository.commit('hawser');
  await database.searchable('hawser', 1);
});

test('a runner pod that is deleted during an update hands its runs back, and is replaced', async () => {
  const before = await runnersReady();
  const asked = await duringAnUpdate('bowline', async () => {
    await deletePod(before[0]!);
    await place.until(RUNNERS, (pods) => !uidsOf(pods).includes(before[0]!.metadata.uid), 'the runner pod is gone');
  });
  expect(Math.max(...Object.values(asked))).toBe(2);
  await runnersReady([before[0]!.metadata.uid]);
});

test('a runner pod that is killed during an update loses what it executed: it is executed again elsewhere, once', async () => {
  const before = await runnersReady();
  const asked = await duringAnUpdate('clove', async () => {
    await deletePod(before[0]!, '--grace-period=1');
    await place.until(RUNNERS, (pods) => !uidsOf(pods).includes(before[0]!.metadata.uid), 'the runner pod is gone');
  });
  // All eight where the killed runner executed the cycle's root, whose children elsewhere are ended with it; else its own four.
  const twice = Object.values(asked).filter((count) => count === 2);
  expect([SLOTS / 2, SLOTS]).toContain(twice.length);
  expect(Object.values(asked).filter((count) => count === 1)).toHaveLength(PAGES - twice.length);
});

test('a runner pod that is evicted during an update hands its runs back, and is replaced', async () => {
  const before = await runnersReady();
  const { name, namespace, uid } = before[0]!.metadata;
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const asked = await duringAnUpdate('bight', async () => {
    await run('kubectl', ['create', '--raw', path, '-f', '-'], { stdin: JSON.stringify(eviction) });
    await place.until(RUNNERS, (pods) => !uidsOf(pods).includes(uid), 'the runner pod is gone');
  });
  expect(Math.max(...Object.values(asked))).toBe(2);
  await runnersReady([uid]);
});

test('the only operator is deleted during an update: runs go on, and nothing is executed twice', async () => {
  const asked = await duringAnUpdate('halyard', async () => {
    const before = await release.leader();
    await deletePod(before);
    await release.leader(before);
  });
  expect(asked).toEqual(onceEach('halyard'));
});

test('an upgrade of the chart during an update, from one replica to two, executes nothing twice', async () => {
  const asked = await duringAnUpdate('painter', async () => {
    await release.upgrade({ replicas: 2, 'podLabels.upgraded': 'yes' });
  });
  expect(asked).toEqual(onceEach('painter'));
  expect((await release.operators()).filter(isLiving)).toHaveLength(2);
});

test('the leader of two is deleted during an update: the other leads, and nothing is executed twice', async () => {
  const asked = await duringAnUpdate('sheet', async () => {
    const before = await release.leader();
    await deletePod(before);
    await release.leader(before);
  });
  expect(asked).toEqual(onceEach('sheet'));
});

test('the leader of two crashes during an update: one leads again when its lease has run out, and nothing is executed twice', async () => {
  const asked = await duringAnUpdate('stay', async () => {
    const [leader, holder] = await Promise.all([release.leader(), release.holder()]);
    await signal(leader, 'KILL');
    await release.holder(holder);
  });
  expect(asked).toEqual(onceEach('stay'));
});

test('the leader of two stalls beyond its lease: the other leads, and what the first one wakes with executes nothing twice', async () => {
  const asked = await duringAnUpdate('shroud', async () => {
    const [leader, holder] = await Promise.all([release.leader(), release.holder()]);
    await signal(leader, 'STOP');
    await release.holder(holder);
    await signal(leader, 'CONT');
  });
  expect(asked).toEqual(onceEach('shroud'));
});

test('an upgrade to another image during an update replaces operators, and runners one by one', async () => {
  const before = uidsOf(await runnersReady());
  await gate.pace(500);
  await repository.commit('tackle', 4 * PAGES);
  await release.upgrade({ 'image.tag': 'next' });
  const isNew = ({ spec, metadata }: Seen) =>
    !before.includes(metadata.uid) && imagesOf(spec).includes('fairlead:next');
  let fewest = before.length;
  await place.until(
    RUNNERS,
    (pods) => {
      fewest = Math.min(fewest, pods.filter(isLiving).length);
      return pods.length === before.length && pods.every(isNew);
    },
    'all runner pods have the new image',
  );
  expect(fewest, 'runner pods at any moment').toBeGreaterThanOrEqual(before.length - 1);
  await database.searchable('tackle', 4 * PAGES);
  const asked = Object.values(await gate.asked('tackle'));
  expect(asked).toHaveLength(4 * PAGES);
  expect(Math.max(...asked), 'a run that was handed back was executed once more').toBeLessThanOrEqual(2);
});

const imagesOf = (spec: Seen['spec']): readonly string[] =>
  ((spec?.containers ?? []) as readonly { readonly image: string }[]).map(({ image }) => image);

test('no fault lost or repeated a row, and the status counts all items once a cycle has listed since the last fault', async () => {
  const pages = 40 + 1 + 12 * PAGES;
  expect(await database.ask('select count(*) from chunks')).toEqual([`${pages}`]);
  const where = { kind: 'livesources', name: 'docs' } as const;
  // An operator that took a cycle over knows its part of the counts; they are right again with the next cycle (H3 of operator/host).
  await place.until(where, ([docs]) => itemsOf(docs).total === pages, `docs counts ${pages} items`);
  expect((await synced()).status?.items).toMatchObject({ total: pages, failed: 0 });
});

const itemsOf = (object: Seen | undefined): { readonly total?: number } =>
  (object?.status?.items ?? {}) as { readonly total?: number };
