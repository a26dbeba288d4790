// Several followers of one dispatcher.
import { expect, test } from 'vitest';
import { type DispatchEvents, fanOut } from '../../operator/dispatch/index.ts';

test('each follower hears what it follows, in order, with all of its arguments and as itself', () => {
  const heard: string[] = [];
  class Follower {
    readonly name: string;

    constructor(name: string) {
      this.name = name;
    }

    cardReturned(card: unknown, bodyMs: number | undefined): void {
      heard.push(`${this.name} ${String(card)} ${bodyMs}`);
    }
  }
  const ended = (...told: unknown[]) => void heard.push(told.join(' '));
  const all = fanOut([new Follower('one') as DispatchEvents, new Follower('two') as DispatchEvents, { ended }]);
  all.cardReturned?.('card' as never, 7);
  all.ended?.('run' as never, 'outcome' as never, 'trace' as never);
  expect(heard).toEqual(['one card 7', 'two card 7', 'run outcome trace']);
});

test('what nobody follows is absent, so that it costs nothing', () => {
  expect(fanOut([{ granted: () => {} }, {}])).toEqual({ granted: expect.any(Function) });
});
