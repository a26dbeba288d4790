// Events of updates: which ones are told, and that each names its update and its trace, in words and as annotations.
import { expect, test } from 'vitest';
import type { EndedUpdate, UpdateRecord } from '../../operator/host/index.ts';
import { updateNote } from '../../operator/reconcile/index.ts';
import { NO_COUNTS } from '../../runner/protocol/index.ts';

const TRACE = '0193f2c0a1b2c3d4e5f60718293a4b5c';

function ended(part: Partial<UpdateRecord>, wasFailing = false): EndedUpdate {
  const record: UpdateRecord = {
    name: 'docs-1-7',
    kind: 'cycle',
    source: 'docs',
    trigger: 'interval',
    result: 'Succeeded',
    startedAtMs: 0,
    counts: NO_COUNTS,
    traceId: TRACE,
    ...part,
  };
  return { record, wasFailing, isSeen: true };
}

const failed = { result: 'Failed', message: 'the source does not answer' } as const;
const items = { result: 'CompletedWithErrors', counts: { ...NO_COUNTS, added: 4, failed: 3 } } as const;
const held = { result: 'CompletedWithErrors', message: '9 of 10 items are not in the source any more' } as const;

const CASES: Readonly<Record<string, readonly [EndedUpdate, string | undefined, RegExp?]>> = {
  'an update that failed is told with its reason': [ended(failed), 'UpdateFailed', /the source does not answer/],
  'items that failed are told with their number': [ended(items), 'ItemsFailed', /failed: 3\./],
  'deletes that wait for consent are told': [ended(held), 'DeletesHeld', /9 of 10 items/],
  'a source that is well again is told': [ended({}, true), 'UpdateSucceeded', /succeeded/],
  'an update that succeeds after another that did is not told': [ended({}), undefined],
  'an update that was cancelled is not told': [ended({ result: 'Cancelled' }, true), undefined],
};

for (const [name, [update, reason, words]] of Object.entries(CASES))
  test(name, () => {
    const note = updateNote(update);
    expect(note?.reason).toBe(reason);
    if (note === undefined) return;
    expect(note.note).toMatch(words!);
    expect(note.note).toContain(`Trace ${TRACE}: fairlead trace docs-1-7`);
    expect(note.annotations).toEqual({ 'fairlead.dev/update': 'docs-1-7', 'fairlead.dev/trace-id': TRACE });
    expect(note.type).toBe(reason === 'UpdateSucceeded' ? 'Normal' : 'Warning');
  });

test('a reason that is long is cut, and the trace after it stays within what an event may say', () => {
  const note = updateNote(ended({ ...failed, message: 'no '.repeat(2_000) }));
  expect(note?.note.length).toBeLessThanOrEqual(1_000);
  expect(note?.note).toContain(TRACE);
});

test('without traces an event names its update alone', () => {
  const { traceId: _, ...record } = ended(failed).record;
  const note = updateNote({ record, wasFailing: false, isSeen: true });
  expect(note?.note).not.toContain('Trace');
  expect(note?.annotations).toEqual({ 'fairlead.dev/update': 'docs-1-7' });
});
