// One runner as the gateway serves it.
import { create } from '@bufbuild/protobuf';
import {
  Channel,
  DownWriter,
  decodeReport,
  deliverUp,
  type Frame,
  FrameSchema,
  HeartbeatSchema,
  type Hello,
  type LinkedRunner,
  type RunnerReport,
  type Specs,
  type Uplink,
  WelcomeSchema,
  type Wire,
} from '../../runner/protocol/index.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import type { Seat } from '../dispatch/index.ts';
import type { LeaseSettings } from './gateway.ts';
import type { GatewayEvents, Pool, Roster } from './ports.ts';

/** Heartbeats that may be missing before a runner counts as silent. */
const SILENT_HEARTBEATS = 3;
const NOT_LEADER = 'another operator leads';

/**
 * - `reporting`: it was welcomed, and has not said what it holds.
 * - `serving`: it is heard.
 * - `silent`: it is not; its time runs.
 * - `ended`: Q1.
 */
export type SessionPhase = 'reporting' | 'serving' | 'silent' | 'ended';

export interface ServedSessionOptions {
  readonly hello: Hello;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly epoch: number;
  readonly operator: string;
  readonly lease: LeaseSettings;
  readonly events: GatewayEvents;
  readonly roster: Roster | undefined;
  readonly defer: (flush: () => void) => void;
  /** It said what it holds. */
  readonly reported: () => void;
  /** It ended: it must never be resumed (Q3). */
  readonly ended: () => void;
}

export class ServedSession {
  readonly id: string;
  readonly runner: string;
  readonly pipeline: string;
  readonly #options: ServedSessionOptions;
  readonly #clock: Clock;
  readonly #channel = new Channel();
  readonly #writer: DownWriter;
  #phase: SessionPhase = 'reporting';
  #wire: Wire | undefined;
  #joined: { readonly seat: Seat; readonly uplink: Uplink } | undefined;
  #lastHeardMs: number;
  /** Runs that the roster knows it may execute. */
  #entered: number;
  #busyMs = 0;
  #isLeaving = false;
  #isDue = false;
  #watchdog: CancelTimer = () => {};
  #deadline: CancelTimer = () => {};

  constructor(options: ServedSessionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.id = options.hello.session;
    this.runner = options.hello.runner;
    this.pipeline = options.hello.pipeline;
    this.#writer = new DownWriter(options.epoch);
    this.#lastHeardMs = options.clock.nowMs();
    this.#entered = options.hello.slots;
  }

  get phase(): SessionPhase {
    return this.#phase;
  }

  get seat(): Seat | undefined {
    return this.#joined?.seat;
  }

  /** How long the runner's engine has not answered its own link. */
  get busyMs(): number {
    return this.#busyMs;
  }

  // ---- streams ----------------------------------------------------------------------------------------------------

  begin(wire: Wire): void {
    this.#welcome(wire, false);
    this.#channel.attach(wire, 0);
    this.#hear();
  }

  /** The same session over a new stream. */
  resume(wire: Wire, acknowledged: number): void {
    this.#wire?.close('the runner opened another stream');
    this.#welcome(wire, true);
    this.#channel.attach(wire, acknowledged);
    if (this.#phase === 'silent') this.#setHeard();
    this.#hear();
    this.#flushSoon();
  }

  received(wire: Wire, frame: Frame): void {
    if (wire !== this.#wire || this.#phase === 'ended') return;
    this.#hear();
    try {
      this.#take(frame);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      wire.close(error.message);
      this.broke(wire, error.message);
    }
  }

  /** The stream broke. */
  broke(wire: Wire, _why: string): void {
    if (wire !== this.#wire || this.#phase === 'ended') return;
    this.#wire = undefined;
    this.#channel.detach();
    this.#watchdog();
    this.#setSilent();
  }

  /** It is over (Q1): what the runner had goes to others. */
  end(why: string): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.abandon(why);
    const { pool, events, ended } = this.#options;
    ended();
    if (this.#joined !== undefined) pool.host.removeRunner(this.#joined.seat);
    events.left?.(this.runner, why);
  }

  /** Closes its stream; what it holds stays held until it is heard again or its time is up. */
  sever(why: string): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    this.broke(wire, why);
    wire.close(why);
  }

  /** Says what was decided, though the stream be congested, and lets go of it (Q6). */
  handOver(why: string): void {
    if (this.#wire !== undefined && this.#writer.length > 0 && this.#enterMore())
      this.#channel.send({ case: 'batch', value: this.#writer.take() });
    this.abandon(why);
  }

  /** Lets go of the stream and of all timers, and decides nothing. */
  abandon(why: string): void {
    this.#watchdog();
    this.#deadline();
    this.#channel.detach();
    this.#wire?.close(why);
    this.#wire = undefined;
  }

  sendSpecs(specs: Specs): void {
    this.#channel.send({ case: 'specs', value: specs });
  }

  /** Sends what was collected, if the stream takes it. */
  flush(): void {
    this.#isDue = false;
    if (this.#writer.length === 0 || !this.#channel.canSend) return;
    if (!this.#enterMore()) {
      this.sever(NOT_LEADER);
      return;
    }
    this.#channel.send({ case: 'batch', value: this.#writer.take() });
  }

  /**
   * A parent that goes on while its room is in use makes a runner execute more than its slots; a later operator must know how many. False:
   * there is one, which counts on what it found written, so the runner must not be told of more.
   */
  #enterMore(): boolean {
    const { roster } = this.#options;
    const executing = this.#joined?.seat.executing ?? 0;
    if (executing <= this.#entered || roster === undefined) return true;
    this.#entered = executing;
    return roster.enter({ pipeline: this.pipeline, runner: this.runner, session: this.id, slots: executing });
  }

  // ---- what arrives -----------------------------------------------------------------------------------------------

  #take(frame: Frame): void {
    const { what } = frame;
    if (what.case === 'heartbeat') this.#answer(what.value.number, what.value.busyMs);
    const isNew = this.#channel.accept(frame);
    if (this.#writer.length > 0) this.#flushSoon();
    if (!isNew) return;
    if (what.case === 'report') this.#report(decodeReport(what.value));
    else if (what.case === 'batch' && this.#joined !== undefined) deliverUp(what.value, this.#joined.uplink);
    else if (what.case === 'leaving') this.#leaving(what.value.gone, what.value.why);
    // A runner that leaves waits for nothing but this.
    if (this.#isLeaving) this.#channel.sendUnnumbered({ case: undefined });
  }

  #report(report: RunnerReport): void {
    if (this.#joined !== undefined) throw new RangeError('the runner reported twice in one session');
    const { pool, events, hello, reported } = this.#options;
    const { runner, runnerClass, slots, gpus } = hello;
    const name = `${runner}/${this.id}`;
    this.#joined = pool.host.adoptRunner(
      { name, runnerClass, slots, cards: gpus, runner: this.#collector(), takesNotes: true },
      report,
    );
    reported();
    this.#phase = 'serving';
    events.joined?.(runner, this.pipeline, slots);
    if (this.#isLeaving) pool.host.drainRunner(this.#joined.seat);
  }

  #leaving(isGone: boolean, why: string): void {
    this.#isLeaving = true;
    if (isGone) this.end(why);
    else if (this.#joined !== undefined) this.#options.pool.host.drainRunner(this.#joined.seat);
  }

  #answer(number: number, busyMs: number): void {
    this.#busyMs = busyMs;
    this.#channel.sendUnnumbered({ case: 'heartbeatAnswer', value: create(HeartbeatSchema, { number }) });
  }

  #welcome(wire: Wire, resumed: boolean): void {
    const { epoch, operator, lease, pool } = this.#options;
    this.#wire = wire;
    const welcome = create(WelcomeSchema, {
      version: 1,
      epoch,
      operator,
      resumed,
      leaseTimeoutMs: lease.leaseTimeoutMs,
      heartbeatMs: lease.heartbeatMs,
      specs: pool.specs(),
    });
    const acknowledged = this.#channel.received;
    wire.send(create(FrameSchema, { acknowledged, what: { case: 'welcome', value: welcome } }));
  }

  // ---- time -------------------------------------------------------------------------------------------------------

  #hear(): void {
    this.#lastHeardMs = this.#clock.nowMs();
    this.#deadline();
    this.#deadline = () => {};
    this.#watchdog();
    this.#watchdog = this.#clock.after(SILENT_HEARTBEATS * this.#options.lease.heartbeatMs, () =>
      this.sever('the runner was not heard'),
    );
  }

  #setSilent(): void {
    const { lease, pool, events } = this.#options;
    this.#phase = 'silent';
    if (this.#joined !== undefined) pool.host.silenceRunner(this.#joined.seat);
    events.silent?.(this.runner);
    const endsAtMs = this.#lastHeardMs + lease.leaseTimeoutMs + lease.leaseMarginMs;
    this.#deadline = this.#clock.after(endsAtMs - this.#clock.nowMs(), () => this.end('it was not heard in time'));
  }

  #setHeard(): void {
    const { pool, events } = this.#options;
    this.#phase = this.#joined === undefined ? 'reporting' : 'serving';
    if (this.#joined !== undefined) {
      if (this.#isLeaving) pool.host.drainRunner(this.#joined.seat);
      else pool.host.resumeRunner(this.#joined.seat);
    }
    events.resumed?.(this.runner);
  }

  // ---- what the dispatcher says -----------------------------------------------------------------------------------

  /** Collects what the runner is told; it leaves when the turn is over. */
  #collector(): LinkedRunner {
    const writer = () => {
      this.#flushSoon();
      return this.#writer;
    };
    return {
      start: (order) => writer().start(order),
      startMounted: (token, parent, mount) => writer().startMounted(token, parent, mount),
      cancel: (run, why) => writer().cancel(run, why),
      renewed: (run, token) => writer().renewed(run, token),
      mountStarted: (parent, mount) => writer().mountStarted(parent, mount),
      mountEnded: (parent, mount, outcome) => writer().mountEnded(parent, mount, outcome),
      cardGranted: (run, ask, grant) => writer().cardGranted(run, ask, grant),
      cardRefused: (run, ask, why) => writer().cardRefused(run, ask, why),
    };
  }

  #flushSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#options.defer(() => this.flush());
  }
}
