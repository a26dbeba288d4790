// Several that follow one dispatcher.
import type { DispatchEvents } from './ports.ts';

const EVENTS = [
  'updateOpened',
  'updateEnded',
  'requested',
  'granted',
  'ended',
  'parked',
  'lost',
  'runnerJoined',
  'runnerLeft',
  'measured',
] as const satisfies readonly (keyof DispatchEvents)[];

/** Tells each of them in this order; an event that nobody follows stays absent and costs nothing. */
export function fanOut(followers: readonly DispatchEvents[]): DispatchEvents {
  const all: Record<string, (...told: readonly unknown[]) => void> = {};
  for (const event of EVENTS) {
    const tellers = followers.flatMap((one) => {
      const tell = one[event] as ((...told: readonly unknown[]) => void) | undefined;
      return tell === undefined ? [] : [tell.bind(one)];
    });
    if (tellers.length === 1) all[event] = tellers[0]!;
    else if (tellers.length > 1)
      all[event] = (...told) => {
        for (const tell of tellers) tell(...told);
      };
  }
  return all as DispatchEvents;
}
