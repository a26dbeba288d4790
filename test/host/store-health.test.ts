// What ends of runs say about the state store and the targets; H7 and H8 are the invariants at the head of operator/host/store-health.ts.
import { describe, expect, test } from 'vitest';
import type { RunView } from '../../operator/dispatch/index.ts';
import { StoreHealth } from '../../operator/host/index.ts';
import { NO_COUNTS, type RunError, type RunOutcome } from '../../runner/protocol/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const RUN = {} as RunView;
const failed = (error: Partial<RunError> = {}): RunOutcome => ({
  kind: 'failed',
  counts: NO_COUNTS,
  error: { class: 'transient', step: 'export', message: 'the database is away', ...error },
});
const taken: RunOutcome = { kind: 'done', counts: { ...NO_COUNTS, added: 1 } };

function health() {
  const clock = new VirtualClock();
  const heard: (string | undefined)[] = [];
  const one: StoreHealth = new StoreHealth(clock, () => heard.push(one.trouble?.reason));
  const end = (...outcomes: readonly RunOutcome[]) => {
    for (const outcome of outcomes) one.ended(RUN, outcome);
  };
  return { clock, heard, one, end };
}

describe('the health of stores', () => {
  test('H7: three commits in a row without an answer are trouble, with what the last one said', () => {
    const { one, heard, end } = health();
    end(failed(), failed(), taken, failed(), failed());
    expect(one.trouble).toBeUndefined();
    one.parked(RUN, {
      kind: 'parked',
      resumeAfterMs: 9,
      error: { class: 'timeout', step: 'export', message: 'no answer' },
    });
    expect(one.trouble).toEqual({ reason: 'TargetUnreachable', message: 'no answer' });
    end(failed());
    expect(heard).toEqual(['TargetUnreachable']);
  });

  test('H7: that of the state is told apart; items that a target refuses, and steps that fail, are none', () => {
    const { one, end } = health();
    for (let time = 0; time < 9; time++)
      end(failed({ class: 'invalid' }), failed({ step: 'embed' }), failed({ class: 'internal' }));
    expect(one.trouble).toBeUndefined();
    for (let time = 0; time < 3; time++) end(failed({ step: 'commit' }));
    expect(one.trouble?.reason).toBe('StateUnreachable');
  });

  test('H8: it goes with a commit that is taken, some time after the last that was not', () => {
    const { clock, one, heard, end } = health();
    end(failed(), failed(), failed());
    clock.advance(9_000);
    end(taken);
    expect(one.trouble).toBeDefined();
    clock.advance(1_000);
    expect([one.trouble, heard]).toEqual([undefined, ['TargetUnreachable', undefined]]);
  });

  test('H8: a store that comes and goes is in trouble all the time, and says so once', () => {
    const { clock, heard, end } = health();
    end(failed(), failed(), failed());
    for (let time = 0; time < 20; time++) {
      end(taken);
      clock.advance(3_000);
      end(failed());
    }
    expect(heard).toEqual(['TargetUnreachable']);
  });

  test('H8: a run that found nothing to do proves nothing', () => {
    const { clock, one, end } = health();
    end(failed(), failed(), failed(), { kind: 'done', counts: { ...NO_COUNTS, unchanged: 1 } });
    clock.advance(60_000);
    expect(one.trouble).toBeDefined();
  });
});
