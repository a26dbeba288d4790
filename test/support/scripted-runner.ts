// A runner that executes nothing: it keeps what it was told, and the test plays its runs.
import type {
  CardGrant,
  FencingToken,
  HeldItems,
  MountRequest,
  RunNumber,
  Runner,
  RunOrder,
  RunOutcome,
  Uplink,
} from '../../runner/protocol/index.ts';
import { NO_COUNTS } from '../../runner/protocol/index.ts';

export const DONE: RunOutcome = { kind: 'done', counts: NO_COUNTS };
export const FAILED: RunOutcome = {
  kind: 'failed',
  counts: { ...NO_COUNTS, failed: 1 },
  error: { class: 'internal', message: 'it broke' },
};

export class ScriptedRunner implements Runner {
  uplink!: Uplink;
  /** Runs that execute here by number, in the order in which they came. */
  readonly running = new Map<RunNumber, RunOrder>();
  readonly orders: RunOrder[] = [];
  readonly cancels = new Map<RunNumber, string>();
  readonly mountsStarted: string[] = [];
  readonly mountsEnded = new Map<string, RunOutcome>();
  readonly tokens = new Map<RunNumber, FencingToken>();

  start(order: RunOrder): void {
    this.orders.push(order);
    this.running.set(order.token.run, order);
  }

  cancel(run: RunNumber, why: string): void {
    this.cancels.set(run, why);
  }

  renewed(run: RunNumber, token: FencingToken): void {
    this.tokens.set(run, token);
  }

  mountStarted(parent: RunNumber, mount: number): void {
    this.mountsStarted.push(`${parent}/${mount}`);
  }

  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    if (this.mountsEnded.has(`${parent}/${mount}`)) throw new Error(`mount ${parent}/${mount} ended twice`);
    this.mountsEnded.set(`${parent}/${mount}`, outcome);
  }

  /** Shares by their asks. */
  readonly grants = new Map<number, CardGrant>();
  readonly refusals = new Map<number, string>();

  cardGranted(_run: RunNumber, ask: number, grant: CardGrant): void {
    if (this.grants.has(ask)) throw new Error(`the ask ${ask} was granted twice`);
    this.grants.set(ask, grant);
  }

  cardRefused(_run: RunNumber, ask: number, why: string): void {
    this.refusals.set(ask, why);
  }

  /** The run of a path that executes here. */
  runAt(path: string): RunNumber {
    for (const [run, order] of this.running) if (order.path === path) return run;
    throw new Error(`nothing executes at ${path}; there is ${this.paths().join(', ') || 'nothing'}`);
  }

  paths(): string[] {
    return [...this.running.values()].map(({ path }) => path);
  }

  exit(path: string, outcome: RunOutcome = DONE): void {
    const run = this.runAt(path);
    this.running.delete(run);
    this.uplink.exited(run, outcome);
  }

  /** Says what the state holds; of other sources nothing. */
  count(source: string, held: Partial<Omit<HeldItems, 'source'>>, atMs = Date.now()): void {
    this.uplink.counted?.({ atMs, sources: [{ source, total: 0, failed: 0, quarantined: 0, ...held }] });
  }

  mount(parentPath: string, request: Partial<MountRequest> & { readonly path: string }): void {
    this.uplink.mount(this.runAt(parentPath), { mount: 1, kind: 'module', ...request });
  }
}
