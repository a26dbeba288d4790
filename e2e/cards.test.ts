// Cards across Pipelines of two namespaces, on a kubelet with a device plugin: alone each takes all four, together two each; nobody's run
// is cut short; idle cards go back. The model behind the gate takes its time, so that there is a backlog while the scenarios look.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { offerCards, running, withCards, withdrawCards } from './support/cards.ts';
import { Database } from './support/database.ts';
import { Gate } from './support/gate.ts';
import { type Place, usePlace } from './support/place.ts';
import { useRelease } from './support/release.ts';
import { Repository } from './support/repository.ts';
import type { Seen } from './support/watch.ts';

const RUNNERS = { kind: 'pods', labels: 'app.kubernetes.io/component=runner' } as const;
const PACE_MS = 400;
/** Of the first re-index: a minute's work for four cards. */
const MANY = 600;

/** A Pipeline in a namespace of its own, with all that it needs. */
class Side {
  readonly place: Place;
  repository!: Repository;
  database!: Database;
  gate!: Gate;

  constructor(place: Place) {
    this.place = place;
  }

  async serve(): Promise<void> {
    [this.database, this.repository, this.gate] = await Promise.all([
      Database.serve(this.place),
      Repository.serve(this.place),
      Gate.serve(this.place),
    ]);
    await this.gate.pace(PACE_MS);
    await this.repository.commit('first');
    await this.place.apply({ file: 'manifests/cards.yaml' });
    await this.database.searchable('first', 1);
  }

  until(holds: (pods: readonly Seen[]) => boolean, what: string): Promise<readonly Seen[]> {
    return this.place.until(RUNNERS, (pods) => holds(withCards(pods)), `${this.place.namespace}: ${what}`);
  }

  async stop(): Promise<void> {
    this.gate?.stop();
    await this.database?.close();
  }
}

useRelease({ replicas: 1 });
const left = new Side(usePlace('e2e-cards-left'));
const right = new Side(usePlace('e2e-cards-right'));

beforeAll(async () => {
  await Promise.all([offerCards(), left.serve(), right.serve()]);
});
afterAll(async () => {
  await Promise.all([left.stop(), right.stop()]);
  await withdrawCards();
});

test('cards go back after a while without work, to the last one', async () => {
  await left.until((pods) => pods.length === 0, 'no runner has a card');
  await right.until((pods) => pods.length === 0, 'no runner has a card');
});

test('from zero, a Pipeline alone takes all four cards, each runner another one', async () => {
  await left.repository.commit('rope', MANY);
  const pods = await left.until((all) => running(all).length === 4, 'four runners with a card run');
  const devices = await Promise.all(
    running(withCards(pods)).map(({ metadata }) =>
      left.place.kubectl('exec', metadata.name, '--', 'printenv', 'NVIDIA_VISIBLE_DEVICES'),
    ),
  );
  expect(new Set(devices).size).toBe(4);
});

test('when another Pipeline wants cards too, both have two after one drain, and no run was cut short', async () => {
  await right.repository.commit('rope', 300);
  await Promise.all([
    right.until((pods) => running(pods).length === 2, 'two runners with a card run'),
    left.until((pods) => pods.length === 2, 'two runners with a card are left'),
  ]);
  expect(await left.database.rowsWith('rope'), 'its re-index still runs').toBeLessThan(MANY);
});

test("a small refresh of one Pipeline does not wait for the other's backlog of calls", async () => {
  await right.database.searchable('rope', 300);
  await left.repository.commit('longer', 300);
  await left.until((pods) => running(pods).length >= 2, 'its re-index has cards');
  await right.repository.commit('hawser', 3);
  await right.database.searchable('hawser', 3);
  expect(await left.database.rowsWith('longer')).toBeLessThan(300);
});

test('every page was embedded once: drains cut no run short', async () => {
  await left.database.searchable('longer', 300);
  for (const [side, pages] of [
    [left, MANY],
    [right, 300],
  ] as const) {
    const counts = Object.values(await side.gate.asked('rope'));
    expect(counts).toHaveLength(pages);
    expect(Math.max(...counts)).toBe(1);
  }
});
