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

/** Events have three arguments at most; a rest array for each would be the dearest part of telling. */
type Tell = (first: unknown, second: unknown, third: unknown) => void;

/** Tells each of them in this order; an event that nobody follows stays absent and costs nothing. */
export function fanOut(followers: readonly DispatchEvents[]): DispatchEvents {
  const all: Record<string, Tell> = {};
  for (const event of Object.keys(EVENTS) as (keyof DispatchEvents)[]) {
    const tellers = followers.flatMap((one) => {
      const tell = one[event] as Tell | undefined;
      return tell === undefined ? [] : [tell.bind(one)];
    });
    if (tellers.length > 0) all[event] = tellers.reduce(both);
  }
  return all as DispatchEvents;
}

const both =
  (one: Tell, other: Tell): Tell =>
  (first, second, third) => {
    one(first, second, third);
    other(first, second, third);
  };
