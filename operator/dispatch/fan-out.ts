// Several that follow one dispatcher.
import type { DispatchEvents } from './ports.ts';

/** All there are: one that is missing here does not compile. */
const EVENTS: Readonly<Record<keyof DispatchEvents, true>> = {
  updateOpened: true,
  updateEnded: true,
  requested: true,
  granted: true,
  ended: true,
  parked: true,
  lost: true,
  cardAsked: true,
  cardGranted: true,
  cardReturned: true,
  runnerJoined: true,
  runnerLeft: true,
  measured: true,
  counted: true,
};

/** Tells each of them in this order; an event that nobody follows stays absent and costs nothing. */
export function fanOut(followers: readonly DispatchEvents[]): DispatchEvents {
  const all: Record<string, (...told: readonly unknown[]) => void> = {};
  for (const event of Object.keys(EVENTS) as (keyof DispatchEvents)[]) {
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
