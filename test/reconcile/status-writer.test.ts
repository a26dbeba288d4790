// What is written of statuses, and when; W1 to W7 are the invariants at the head of operator/reconcile/writer/status-writer.ts.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type AnyStatus, StatusWriter, type StoredObject, type WriteResult } from '../../operator/reconcile/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

interface Status extends AnyStatus {
  readonly items?: number;
  readonly slots?: { readonly held: number };
  readonly updates?: readonly { readonly result: string }[];
  readonly lastCycleAt?: string;
  readonly freshness?: { readonly checkedAt?: string; readonly oldestChangeAt?: string };
}

const objectOf = (name: string, status?: Status): StoredObject => ({
  kind: 'LiveSource',
  metadata: { name, namespace: 'search', uid: `uid-${name}` },
  ...(status && { status }),
});

const ready = (is: 'True' | 'False', more: Status = {}): Status => ({
  conditions: [{ type: 'Ready', status: is }],
  ...more,
});

/** Turns of the event loop in which what can go on does. */
const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
};

/** A budget that stays as it is. */
const steady = (perSecond: number, burst: number) => ({
  perSecond,
  perSecondMin: perSecond,
  perSecondMax: perSecond,
  burst,
});

function writing(answer: () => Promise<WriteResult> = async () => 'done', rate = steady(1, 100)) {
  const clock = new VirtualClock();
  const written: Status[] = [];
  const failures: string[] = [];
  let underWay = 0;
  let mostUnderWay = 0;
  const writer = new StatusWriter({
    clock,
    signal: new AbortController().signal,
    everyMs: 3_000,
    writers: 2,
    rate,
    failed: (key) => failures.push(key),
    writes: {
      applyStatus: async (_, status) => {
        mostUnderWay = Math.max(mostUnderWay, ++underWay);
        written.push(status as Status);
        try {
          return await answer();
        } finally {
          underWay--;
        }
      },
    },
  });
  const offer = (object: StoredObject, status: Status | (() => Status)) =>
    writer.offer<Status>('LiveSource', object, () => ({
      object,
      status: typeof status === 'function' ? status() : status,
    }));
  return { clock, writer, written, failures, offer, most: () => mostUnderWay };
}

describe('statuses', () => {
  test('W1: one that says the same as the one that stands is not written, whatever its ticking times are', async () => {
    const { written, offer } = writing();
    const object = objectOf('a', ready('True', { items: 3, lastCycleAt: '10:00', freshness: { checkedAt: '10:00' } }));
    offer(object, ready('True', { items: 3, lastCycleAt: '10:30', freshness: { checkedAt: '10:30' } }));
    await settle();
    expect(written).toEqual([]);
  });

  test('W2: counts wait for their time and come as they are then; what went up and down again is never written', async () => {
    const { clock, written, offer } = writing();
    const object = objectOf('a', ready('True', { items: 1 }));
    let items = 2;
    offer(object, () => ready('True', { items }));
    await settle();
    expect(written).toEqual([]);
    items = 7; // W3: what is written is made when it is written
    clock.advance(3_000);
    await settle();
    expect(written).toEqual([ready('True', { items: 7 })]);
    items = 8;
    offer(object, () => ready('True', { items }));
    items = 7;
    clock.advance(3_000);
    await settle();
    expect(written).toHaveLength(1);
  });

  test('W2: a condition that flips, and an echo that somebody waits for, are written at once', async () => {
    const { written, offer } = writing();
    offer(objectOf('a', ready('True')), ready('False'));
    offer(objectOf('b', ready('True')), ready('True', { handled: { refresh: 'now' } }));
    await settle();
    expect(written).toHaveLength(2);
  });

  test('W2: figures of a moment alone are written a hundred times more seldom, and with the first other news', async () => {
    const { clock, written, offer, writer } = writing();
    const object = objectOf('a', ready('True', { items: 1, slots: { held: 0 } }));
    let now = ready('True', { items: 1, slots: { held: 1 } });
    offer(object, () => now);
    clock.advance(299_000);
    await settle();
    expect([written, writer.isIdle]).toEqual([[], true]);
    clock.advance(1_000);
    await settle();
    expect(written).toEqual([now]);
    now = ready('True', { items: 1, slots: { held: 2 } });
    offer(object, () => now);
    now = ready('True', { items: 2, slots: { held: 3 } });
    offer(object, () => now);
    clock.advance(3_000);
    await settle();
    expect(written).toEqual([ready('True', { items: 1, slots: { held: 1 } }), now]);
  });

  test('F112, W2: while an update shows, its figures are news as its counts are', async () => {
    const { clock, written, offer } = writing();
    const running = { updates: [{ result: 'Running' }] };
    const object = objectOf('a', ready('True', { ...running, slots: { held: 1 } }));
    offer(object, ready('True', { ...running, slots: { held: 2 } }));
    clock.advance(3_000);
    await settle();
    expect(written).toHaveLength(1);
  });

  test('W2: whether work goes on is written ten times later than what it did', async () => {
    const { clock, written, offer } = writing();
    const working = (is: 'True' | 'False'): Status => ({ conditions: [{ type: 'Progressing', status: is }] });
    offer(objectOf('a', working('False')), working('True'));
    clock.advance(29_000);
    await settle();
    expect(written).toEqual([]);
    clock.advance(1_000);
    await settle();
    expect(written).toEqual([working('True')]);
  });

  test('W4: what can wait keeps to the budget of all objects, and what is urgent passes it', async () => {
    const { clock, written, offer } = writing(undefined, steady(1, 2));
    for (let n = 0; n < 5; n++) offer(objectOf(`o${n}`, ready('True', { items: 1 })), ready('True', { items: 10 + n }));
    clock.advance(3_000);
    await settle();
    expect(written.map(({ items }) => items)).toEqual([10, 11]);
    offer(objectOf('urgent', ready('True')), ready('False', { items: 99 }));
    await settle();
    expect(written.map(({ items }) => items)).toEqual([10, 11, 99]);
    for (let second = 0; second < 3; second++) {
      clock.advance(1_000);
      await settle();
    }
    expect(written.map(({ items }) => items)).toEqual([10, 11, 99, 12, 13, 14]);
  });

  test('W4: never more than so many at once', async () => {
    const gate = Promise.withResolvers<void>();
    const { written, offer, most } = writing(async () => {
      await gate.promise;
      return 'done';
    });
    for (let n = 0; n < 5; n++) offer(objectOf(`o${n}`, ready('True')), ready('False'));
    await settle();
    expect(written).toHaveLength(2);
    gate.resolve();
    await settle();
    expect([written.length, most()]).toEqual([5, 2]);
  });

  test('W5: the next status is made from the conditions of the one before, though the cache lags', async () => {
    const { writer, offer } = writing();
    const object = objectOf('a');
    offer(object, ready('False', { items: 1_000 }));
    await settle();
    expect(writer.previous<Status>('LiveSource', object)).toEqual({
      conditions: [{ type: 'Ready', status: 'False' }],
    });
  });

  test('W6: while one of an object is under way, the next one waits for its answer, and other objects do not', async () => {
    const answers: ((result: WriteResult) => void)[] = [];
    const { written, offer } = writing(() => new Promise((resolve) => answers.push(resolve)));
    offer(objectOf('a'), ready('True', { items: 1 }));
    offer(objectOf('a'), ready('False', { items: 2 }));
    offer(objectOf('b'), ready('True', { items: 3 }));
    await settle();
    expect(written.map(({ items }) => items)).toEqual([1, 3]);
    answers[0]!('done');
    await settle();
    expect(written.map(({ items }) => items)).toEqual([1, 3, 2]);
  });

  test('W7: a hundred at once leave turns of the event loop to others, though no write waits for anything', async () => {
    const { written, offer } = writing();
    for (let n = 0; n < 100; n++) offer(objectOf(`a${n}`), ready('True'));
    let turns = 0;
    for (; written.length < 100; turns++) await nextTurn();
    expect(turns, 'two writers').toBeGreaterThanOrEqual(40);
  });

  test('one that met another write is written later, though no event comes', async () => {
    const answers: WriteResult[] = ['conflict', 'done'];
    const { clock, written, failures, offer } = writing(async () => answers.shift()!);
    offer(objectOf('a', ready('True')), ready('False'));
    await settle();
    clock.advance(5_000);
    await settle();
    expect([written.length, failures]).toEqual([2, []]);
  });

  test('one that could not be written is written later; one of an object that is gone is forgotten', async () => {
    const answers: (() => WriteResult)[] = [
      () => {
        throw new Error('away');
      },
      () => 'done',
      () => 'gone',
    ];
    const { clock, written, failures, offer, writer } = writing(async () => answers.shift()!());
    offer(objectOf('a', ready('True')), ready('False'));
    await settle();
    expect(failures).toEqual(['LiveSource/search/a']);
    clock.advance(5_000);
    await settle();
    expect(written).toHaveLength(2);
    offer(objectOf('b', ready('True')), ready('False'));
    await settle();
    expect([writer.written, writer.isIdle]).toEqual([1, true]);
  });
});
