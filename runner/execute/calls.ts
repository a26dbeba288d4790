// What steps tell of their requests to something outside: counted always, and a span where the run is traced.
import type { StepCalls } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { failureOf } from './timed.ts';

export function callsOf(run: Run, { meter }: Services): StepCalls {
  const { times } = run;
  return {
    traceparent: times?.traceparent,
    begin: (name, count) => {
      if (times === undefined) return () => {};
      const place = times.begin('call', name, count);
      return (thrown) => times.end(place, thrown === undefined ? undefined : failureOf(thrown));
    },
    ended: (thrown) => meter.called(thrown === undefined ? 'ok' : failureOf(thrown)),
  };
}

/** Makes one request on behalf of several runs: one call for the counters, a span in the trace of each. `name`: the host. */
export async function callFor<T>(
  all: readonly (StepCalls | undefined)[],
  name: string,
  count: number,
  body: () => Promise<T>,
): Promise<T> {
  const ends = all.map((calls) => calls?.begin(name, count));
  const ended = (thrown?: unknown): void => {
    for (const end of ends) end?.(thrown);
    all[0]?.ended(thrown);
  };
  try {
    const value = await body();
    ended();
    return value;
  } catch (thrown) {
    ended(thrown);
    throw thrown;
  }
}
