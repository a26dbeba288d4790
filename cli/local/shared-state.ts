// A state that processes of several machines can reach: one of them works on it at a time, or an operator's runners do, and the others say what
// they wait for, or who has it.
import type { Clock } from '../../runner/clock.ts';
import { type Holder, holderText, StateInUseError } from '../../runner/state/index.ts';
import { CommandError } from '../exit.ts';
import type { Reporter } from './report.ts';

const LOOK_EVERY_MS = 1_000;

export interface Waiting {
  readonly clock: Clock;
  readonly reporter: Reporter;
  /** Resolves when the user has had enough; absent: there is nobody to stop it. */
  readonly stopped?: Promise<void>;
}

/** Opens it; where its last holder may be gone, once that one's lease has ended. A holder that shows itself meanwhile is at work: then it throws what `open` threw. */
export async function whenFree<T>(pipeline: string, waiting: Waiting, open: () => Promise<T>): Promise<T> {
  for (let expectedMs: number | undefined; ; ) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof StateInUseError) || error.lease === undefined) throw error;
      const { endsAtMs, endsInMs } = error.lease;
      if (expectedMs !== undefined && endsAtMs !== expectedMs) throw error;
      if (expectedMs === undefined) tellWaiting(pipeline, waiting, error.holder, endsInMs);
      expectedMs = endsAtMs;
      await pause(waiting, Math.min(LOOK_EVERY_MS, endsInMs));
    }
  }
}

function tellWaiting(
  pipeline: string,
  { clock, reporter }: Waiting,
  holder: Holder | undefined,
  endsInMs: number,
): void {
  const until = new Date(clock.nowMs() + endsInMs).toISOString();
  reporter.note(
    `Pipeline ${pipeline}: ${holderText(holder)} has its state and may be gone: waiting for a sign of it until ${until}`,
  );
  reporter.event({ event: 'waiting', pipeline, heldBy: holderJson(holder), until });
}

/** Another process has the state now; answers the words for it. */
export function tellLost(pipeline: string, reporter: Reporter, holder: Holder | undefined): string {
  const who = holder === undefined ? 'another process' : holderText(holder);
  reporter.event({ event: 'lost', pipeline, heldBy: holderJson(holder) });
  return `Pipeline ${pipeline}: ${who} has taken over its state, so this process stops`;
}

const holderJson = (holder: Holder | undefined) => {
  if (holder === undefined) return null;
  const { pid, host, sinceMs, isRunner = false } = holder;
  return { pid, host, since: new Date(sinceMs).toISOString(), isRunner };
};

async function pause({ clock, stopped }: Waiting, ms: number): Promise<void> {
  const passed = new Promise<'passed'>((resolve) => clock.after(ms, () => resolve('passed')));
  if ((await Promise.race([passed, ...(stopped === undefined ? [] : [stopped])])) !== 'passed')
    throw new CommandError('stopped while it waited for the state', 'cancelled');
}
