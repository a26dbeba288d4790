// Who works on a state, for those that are refused because of it.
import { hostname } from 'node:os';
import { isRunning } from '../pid.ts';

export interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly sinceMs: number;
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
    super(`the state ${state} is in use by ${holderText(holder)}: stop that process, or use another state`);
    this.name = 'StateInUseError';
    this.holder = holder;
    this.lease = lease;
  }
}

export const myself = (nowMs: number): Holder => ({ pid: process.pid, host: hostname(), sinceMs: nowMs });

export function holderText(holder: Holder | undefined): string {
  if (holder === undefined) return 'another process that is just starting';
  return `process ${holder.pid} on ${holder.host} (since ${new Date(holder.sinceMs).toISOString()})`;
}

/** False where it is known to be gone; of other machines nothing is known. */
export const mayLive = ({ host, pid }: Holder): boolean => host !== hostname() || isRunning(pid);
