// What the records of a source say is wrong, by how its last cycle ended.
import { expect, test } from 'vitest';
import type { UpdateEnding, UpdateView } from '../../operator/dispatch/index.ts';
import { Records } from '../../operator/host/index.ts';
import { NO_COUNTS, type RunError } from '../../runner/protocol/index.ts';

const CYCLE = {
  name: 'docs-1-1',
  kind: 'cycle',
  trigger: 'interval',
  requestedAtMs: 0,
  start: { source: 'docs' },
  progress: { listed: false, total: 0, done: 0, counts: NO_COUNTS },
} as unknown as UpdateView;

function troubleAfter(error: RunError): string | undefined {
  const records = new Records();
  records.opened(CYCLE);
  const ending = { result: 'Failed', counts: NO_COUNTS, outcome: { kind: 'failed', counts: NO_COUNTS, error } };
  records.ended(CYCLE, ending as UpdateEnding, 1_000);
  return records.trouble?.reason;
}

const CASES: Readonly<Record<string, readonly [Pick<RunError, 'class' | 'step'>, string]>> = {
  'a source that does not answer': [{ class: 'transient', step: 'list' }, 'SourceUnreachable'],
  'a source that refuses': [{ class: 'invalid', step: 'list' }, 'SourceRefused'],
  'a listing that broke off': [{ class: 'internal', step: 'list' }, 'ListingFailed'],
  'a state store that does not answer': [{ class: 'transient' }, 'StateUnreachable'],
  'anything else': [{ class: 'internal' }, 'UpdateFailed'],
};

for (const [name, [error, reason]] of Object.entries(CASES)) {
  test(`${name} is told as ${reason}`, () => {
    expect(troubleAfter({ ...error, message: 'no' })).toBe(reason);
  });
}
