// Who works on a state, for those that are refused because of it.
import { hostname } from 'node:os';
import { isRunning } from '../pid.ts';

export interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly sinceMs: number;
  /** It executes runs for an operator. */
  readonly isRunner?: boolean;
}

/** A hold that ends by itself unless it is renewed. */
export interface Lease {
  /** By the store's clock, which need not be that of this machine. */
  readonly endsAtMs: number;
  readonly endsInMs: number;
}

/** Raised when another process, or another store of this one, works on the same state. `state`: as people know it. */
export class StateInUseError extends Error {
  readonly holder: Holder | undefined;
  /** Absent: it is held for as long as its holder lives. */
  readonly lease: Lease | undefined;

  constructor(state: string, holder: Holder | undefined, lease?: Lease) {
    super(`the state ${state} is in use by ${holderText(holder)}: ${adviceOn(holder)}`);
    this.name = 'StateInUseError';
    this.holder = holder;
    this.lease = lease;
  }
}

export const myself = (nowMs: number, isRunner = false): Holder => ({
  pid: process.pid,
  host: hostname(),
  sinceMs: nowMs,
  isRunner,
});

export function holderText(holder: Holder | undefined): string {
  if (holder === undefined) return 'another process that is just starting';
  const { pid, host, sinceMs, isRunner } = holder;
  return `${isRunner === true ? "an operator's runner, " : ''}process ${pid} on ${host} (since ${new Date(sinceMs).toISOString()})`;
}

const adviceOn = (holder: Holder | undefined): string =>
  holder?.isRunner === true
    ? 'suspend the Pipeline in that operator (spec.suspend) or delete it there, or use another state'
    : 'stop that process, or use another state';

/** False where it is known to be gone; of other machines nothing is known. */
export const mayLive = ({ host, pid }: Holder): boolean => host !== hostname() || isRunning(pid);
