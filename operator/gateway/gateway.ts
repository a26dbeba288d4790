// The gateway: the operator's end of the runner link. It knows which runners live; the dispatcher knows what they do.
// Owns:   sessions, leases, the timers that decide that a runner is silent or gone.
// Leaves: what a runner executes (operator/dispatch), streams and TLS (server.ts), who somebody is (auth.ts).
//   Q1. A session is one runner process's holdings. It resumes over any number of streams, and ends once: by the runner's word, by proof, or
//       `leaseTimeout` and a margin after it was last heard.
//   Q2. A silent runner gets nothing new and counts as holding what it had. When its session ends, its runs are asked for again once.
//   Q3. A session that has ended stays ended: a runner that comes back with it is told so, stops its runs, and begins another.
//   Q4. A runner that has seen a newer epoch is sent away: this operator does not lead any more.
//   Q5. Whatever a runner of one Pipeline says reaches only the dispatcher of that Pipeline.
//   Q6. An operator that ends in order says all that it decided before it lets go of the streams, and hears nothing more: what reached it is
//       known to all whom it concerns, what did not is in the runners' reports, and the next operator executes nothing a second time.
import { create } from '@bufbuild/protobuf';
import { FrameSchema, type Hello, RefusedSchema, type Wire, type WireEvents } from '../../runner/protocol/index.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import type { ExpectedRunner, GatewayEvents, PeerIdentity, Pools, Roster } from './ports.ts';
import { ServedSession } from './session.ts';

export interface LeaseSettings {
  /** A runner that reached no operator for so long stops its runs itself. Default 120 s. */
  readonly leaseTimeoutMs: number;
  /** What is added before its runs are given to others: for clocks that drift, and for runs that stop slowly. Default 30 s. */
  readonly leaseMarginMs: number;
  /** How often a runner says that it lives. Default 5 s. */
  readonly heartbeatMs: number;
  /** For how long after this operator began an earlier one may have gone on answering runners. Default 30 s; 0 where it is known to have stopped. */
  readonly handOverMs: number;
}

export const LEASE_DEFAULTS: LeaseSettings = {
  leaseTimeoutMs: 120_000,
  leaseMarginMs: 30_000,
  heartbeatMs: 5_000,
  handOverMs: 30_000,
};

const keyOf = ({ runner, session }: ExpectedRunner): string => session ?? runner;

export interface GatewayOptions {
  readonly clock: Clock;
  readonly epoch: number;
  /** Identity of this operator process. */
  readonly operator: string;
  readonly pools: Pools;
  readonly roster?: Roster;
  readonly lease?: LeaseSettings;
  readonly events?: GatewayEvents;
  /** When a turn of the event loop is over: what runners are told leaves then. */
  readonly defer: (flush: () => void) => void;
}

interface Refusal {
  readonly reason: string;
  /** For people. */
  readonly message: string;
}

const VERSION = 1;
const HELLO_MAX_MS = 10_000;
/** Ended sessions that are remembered (Q3). An older one would have to come back after its lease is long over. */
const ENDED_MAX = 10_000;

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #clock: Clock;
  readonly #lease: LeaseSettings;
  readonly #events: GatewayEvents;
  readonly #sessions = new Map<string, ServedSession>();
  readonly #expected = new Set<ExpectedRunner>();
  /** In the order in which they ended. */
  readonly #ended = new Set<string>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#lease = options.lease ?? LEASE_DEFAULTS;
    this.#events = options.events ?? {};
  }

  /** Sessions that have not ended. */
  get sessions(): Iterable<ServedSession> {
    return this.#sessions.values();
  }

  /** A runner opened a stream. */
  accept(peer: PeerIdentity, wire: Wire): WireEvents {
    let session: ServedSession | undefined;
    let isOver = false;
    const close = (why: string) => {
      isOver = true;
      giveUp();
      wire.close(why);
    };
    const giveUp: CancelTimer = this.#clock.after(HELLO_MAX_MS, () => close('no hello came'));
    return {
      frame: (frame) => {
        if (isOver) return;
        if (session !== undefined) session.received(wire, frame);
        else if (frame.what.case !== 'hello') close('the first frame was no hello');
        else {
          giveUp();
          const hello = frame.what.value;
          const refusal = this.#refusalOf(peer, hello) ?? this.#entryRefused(hello);
          if (refusal === undefined) session = this.#open(peer, hello, wire, frame.acknowledged);
          else {
            this.#events.refused?.(peer.name, refusal.message);
            wire.send(create(FrameSchema, { what: { case: 'refused', value: create(RefusedSchema, refusal) } }));
            close(refusal.message);
          }
        }
      },
      closed: (why) => {
        isOver = true;
        giveUp();
        session?.broke(wire, why);
      },
      drained: () => session?.flush(),
    };
  }

  /** There is proof that a runner's process is gone: what it had is given to others at once. */
  provenGone(pipeline: string, runner: string, why: string): void {
    for (const session of [...this.#sessions.values()]) {
      if (session.runner === runner && session.pipeline === pipeline) session.end(why);
    }
    this.#resolve((expected) => expected.runner === runner && expected.pipeline === pipeline);
  }

  /** A runner's pod went without proof that its process ended: its stream closes, and what it had stays held until its time is up (Q2). */
  sever(pipeline: string, runner: string, why: string): void {
    for (const session of this.#sessions.values())
      if (session.runner === runner && session.pipeline === pipeline) session.sever(why);
  }

  /**
   * Runners that an earlier operator had. They count as full until they report, or are proven gone, or can have reached nobody for their
   * lease and the margin.
   */
  expect(runners: readonly ExpectedRunner[]): void {
    for (const expected of runners) {
      this.#expected.add(expected);
      this.#options.pools.find(expected.pipeline)?.host.expectRunner(keyOf(expected), expected.slots);
    }
    const { leaseTimeoutMs, leaseMarginMs, handOverMs } = this.#lease;
    this.#clock.after(leaseTimeoutMs + leaseMarginMs + handOverMs, () => this.#resolve(() => true));
  }

  /** The specs of a Pipeline changed: its runners are told. */
  specsChanged(pipeline: string): void {
    const pool = this.#options.pools.find(pipeline);
    if (pool === undefined) return;
    for (const session of this.#sessions.values()) if (session.pipeline === pipeline) session.sendSpecs(pool.specs());
  }

  /** Lets go of all streams, and decides nothing any more: this operator leads no longer, or ends (Q6). */
  close(why: string): void {
    for (const session of this.#sessions.values()) session.handOver(why);
    this.#sessions.clear();
  }

  /** A session that is new here is written down before it is told anything: a later operator must know of it. */
  #entryRefused({ pipeline, runner, session, slots }: Hello): Refusal | undefined {
    const { roster } = this.#options;
    if (roster === undefined || this.#sessions.has(session)) return undefined;
    if (roster.enter({ pipeline, runner, session, slots })) return undefined;
    return { reason: 'not-leader', message: 'another operator leads' };
  }

  #refusalOf(peer: PeerIdentity, hello: Hello): Refusal | undefined {
    const { version, pipeline, runner, session, epochSeen } = hello;
    if (version !== VERSION) {
      return {
        reason: 'version',
        message: `the operator speaks version ${VERSION} of the link, the runner ${version}: run both from one release of Fairlead`,
      };
    }
    if (!peer.mayServe(pipeline, runner)) {
      return { reason: 'unauthenticated', message: `${peer.name} may not serve ${pipeline} as ${runner}` };
    }
    if (epochSeen > this.#options.epoch) {
      this.#events.newerLeader?.(epochSeen);
      return { reason: 'not-leader', message: `there is a leader of epoch ${epochSeen}` };
    }
    if (this.#options.pools.find(pipeline) === undefined) {
      return { reason: 'unknown-pipeline', message: `there is no Pipeline ${pipeline}` };
    }
    if (this.#ended.has(session)) {
      return { reason: 'session-over', message: 'its time was up, and its runs were given to others' };
    }
    return undefined;
  }

  #open(peer: PeerIdentity, hello: Hello, wire: Wire, acknowledged: number): ServedSession {
    for (const ended of hello.endedSessions) this.#sessions.get(ended)?.end('its runs have stopped');
    this.#resolve(({ session }) => session !== undefined && hello.endedSessions.includes(session));
    if (peer.isExclusive) this.#endOlder(hello);
    const known = this.#sessions.get(hello.session);
    if (known !== undefined && hello.operator === this.#options.operator) {
      known.resume(wire, acknowledged);
      return known;
    }
    // The runner never heard the answer to its first hello: nothing that it was told can have arrived.
    known?.end('it begins again');
    return this.#begin(peer, hello, wire);
  }

  /** Nobody waits any more for the expected runners that match. */
  #resolve(matches: (expected: ExpectedRunner) => boolean): void {
    for (const expected of [...this.#expected].filter(matches)) {
      this.#expected.delete(expected);
      if (expected.session !== undefined && !this.#sessions.has(expected.session)) {
        this.#options.roster?.leave(expected.session);
      }
      this.#options.pools.find(expected.pipeline)?.host.unexpectRunner(keyOf(expected));
    }
  }

  #endOlder({ pipeline, runner, session }: Hello): void {
    for (const other of [...this.#sessions.values()]) {
      if (other.runner === runner && other.pipeline === pipeline && other.id !== session) {
        other.end('a new process has its name');
      }
    }
    this.#resolve((expected) => {
      const isOlder = expected.session !== undefined && expected.session !== session;
      return expected.runner === runner && expected.pipeline === pipeline && isOlder;
    });
  }

  #begin(peer: PeerIdentity, hello: Hello, wire: Wire): ServedSession {
    const { clock, epoch, operator, defer, roster } = this.#options;
    const session = new ServedSession({
      hello,
      pool: this.#options.pools.find(hello.pipeline)!,
      clock,
      epoch,
      operator,
      defer,
      lease: this.#lease,
      events: this.#events,
      roster,
      reported: () => this.#reported(peer, hello),
      ended: () => this.#forget(session),
    });
    this.#ended.delete(hello.session);
    const { pipeline, runner, slots } = hello;
    roster?.enter({ pipeline, runner, session: hello.session, slots });
    this.#sessions.set(hello.session, session);
    session.begin(wire);
    return session;
  }

  #reported(peer: PeerIdentity, { pipeline, runner, session }: Hello): void {
    this.#resolve((expected) => {
      if (expected.session !== undefined) return expected.session === session;
      return peer.isExclusive && expected.runner === runner && expected.pipeline === pipeline;
    });
  }

  #forget(session: ServedSession): void {
    this.#sessions.delete(session.id);
    this.#options.roster?.leave(session.id);
    this.#ended.add(session.id);
    if (this.#ended.size <= ENDED_MAX) return;
    const [oldest] = this.#ended;
    if (oldest !== undefined) this.#ended.delete(oldest);
  }
}
