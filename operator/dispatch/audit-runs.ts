// Counts of runs and seats, recomputed the slow way.
import type { LiveRun } from './live-run.ts';
import type { Seat } from './seat.ts';

interface Load {
  executing: number;
  suspects: number;
  spokenMilli: number;
}

/** Throws where a seat's counts are not those of its runs, or a run is not where its state says. */
export function auditRuns(runs: Iterable<LiveRun>, seats: Iterable<Seat>): void {
  const loads = new Map<Seat, Load>();
  for (const run of runs) {
    auditRun(run);
    if (run.state.phase === 'executing' && run.isCounted) addLoad(loads, run.state.seat, run);
  }
  for (const seat of seats) {
    const { executing, suspects, spokenMilli } = loads.get(seat) ?? NOTHING;
    invariant(seat.executing === executing, `${seat.name} counts ${seat.executing} runs wrongly`);
    invariant(seat.suspects === suspects, `${seat.name} counts ${seat.suspects} suspects wrongly`);
    invariant(seat.spokenMilli === spokenMilli, `${seat.name} counts ${seat.spokenMilli}m wrongly`);
  }
}

function auditRun({ number, state, isCounted }: LiveRun): void {
  if (state.phase === 'asked') {
    const isThere = state.ask.state === 'waiting' || state.ask.state === 'following';
    invariant(isThere, `run ${number} asked and is ${state.ask.state}`);
  }
  if (state.phase !== 'executing') return;
  invariant(state.ask.state === 'granted', `run ${number} executes without a grant`);
  invariant(state.ask.isExecuting === isCounted, `run ${number} is counted wrongly on ${state.seat.name}`);
}

function addLoad(loads: Map<Seat, Load>, seat: Seat, { losses, milliCards }: LiveRun): void {
  const load = loads.get(seat) ?? { ...NOTHING };
  loads.set(seat, load);
  load.executing++;
  load.spokenMilli += milliCards;
  if (losses > 0) load.suspects++;
}

const NOTHING: Readonly<Load> = { executing: 0, suspects: 0, spokenMilli: 0 };

function invariant(claim: boolean, message: string): void {
  if (!claim) throw new Error(message);
}
