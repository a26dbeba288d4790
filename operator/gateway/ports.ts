// What the gateway needs: pools to bring runners to, and somebody who says who a runner is.
import type { RunnerReport, Specs, Uplink } from '../../runner/protocol/index.ts';
import type { RunnerStart, Seat } from '../dispatch/index.ts';

/** The dispatcher of one Pipeline, as the gateway uses it. */
export interface RunnerHost {
  /** A runner joins with what it holds already. */
  adoptRunner(start: RunnerStart, report: RunnerReport): { readonly uplink: Uplink; readonly seat: Seat };
  drainRunner(seat: Seat): void;
  silenceRunner(seat: Seat): void;
  resumeRunner(seat: Seat): void;
  removeRunner(seat: Seat): void;
  /** Runners that an earlier operator had and that have not reported hold all their slots until they do, or are known to be gone. */
  expectRunner(name: string, slots: number): void;
  /** It reported, or is gone. */
  unexpectRunner(name: string): void;
}

/** One Pipeline that runners can work for. */
export interface Pool {
  readonly host: RunnerHost;
  specs(): Specs;
}

export interface Pools {
  /** By "namespace/name". */
  find(pipeline: string): Pool | undefined;
}

/** A runner that an operator has, as a later one is to expect it. */
export interface ExpectedRunner {
  readonly pipeline: string;
  readonly runner: string;
  /** Its session, where that is known; else its name stands for it, so names must be exclusive. */
  readonly session?: string;
  /** Runs that it may execute. */
  readonly slots: number;
}

/** What outlives the operator: which runners it has let in. In a cluster the API server knows the runner pods. */
export interface Roster {
  /** Written before the runner is told anything. False: another operator leads, and nobody may be let in here. */
  enter(runner: ExpectedRunner): boolean;
  /** Its session ended. */
  leave(session: string): void;
}

/** Who opened a stream, as the authentication found it. */
export interface PeerIdentity {
  /** For logs. */
  readonly name: string;
  /** Whether it may work for this Pipeline as this runner. */
  mayServe(pipeline: string, runner: string): boolean;
  /** At most one process can ever have this name at a time: a new session proves that the older ones of the name are gone. */
  readonly isExclusive: boolean;
}

/** What the gateway tells others. */
export interface GatewayEvents {
  /** A runner has seen a newer epoch: this operator does not lead any more. */
  newerLeader?(epoch: number): void;
  joined?(runner: string, pipeline: string, slots: number): void;
  /** Its stream broke, or it stopped answering. */
  silent?(runner: string): void;
  resumed?(runner: string): void;
  left?(runner: string, why: string): void;
  refused?(peer: string, reason: string): void;
}
