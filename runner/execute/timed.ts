// Parts of a run as spans of its trace.
import type { RunSpan, RunSpanKind } from '../protocol/index.ts';
import { Parked } from './attempts.ts';
import { Cancelled } from './cancellation.ts';
import { toRunError } from './failure.ts';
import type { RunTimes } from './times.ts';

/** Runs `body` as a span of the run, if the run is traced. */
export function timed<T>(
  times: RunTimes | undefined,
  kind: RunSpanKind,
  name: string,
  body: () => Promise<T>,
  count?: number,
): Promise<T> {
  return times === undefined ? body() : ending(times, times.begin(kind, name, count), body);
}

async function ending<T>(times: RunTimes, place: number, body: () => Promise<T>): Promise<T> {
  try {
    const value = await body();
    times.end(place);
    return value;
  } catch (thrown) {
    times.end(place, failureOf(thrown));
    throw thrown;
  }
}

/** How something ended, as spans and counters name it. */
export function failureOf(thrown: unknown): NonNullable<RunSpan['failure']> {
  if (thrown instanceof Cancelled) return 'cancelled';
  return thrown instanceof Parked ? thrown.error.class : toRunError(thrown).class;
}
