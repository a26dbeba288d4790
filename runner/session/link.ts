// The runner's end of the link: dials operators, keeps one session up, and knows when its lease ran out.
// It runs on a thread of its own and takes what the engine's thread says as sealed batches, so that user code that never yields cannot
// stop the heartbeat. Time, chance and streams come in through the constructor. How long the lease lasts
// (N2) is lease.ts's to say.
//   N1. One session at a time. A session is what the runner holds; streams come and go under it.
//   N3. Nothing that arrives after the lease's end counts, whatever it says: the session is over, its runs are stopped, and only when they
//       have stopped does another session begin. If they do not stop in time, the process ends.
//   N4. An operator with an older epoch than one that this runner has seen is left at once.
//   N5. Nothing but `leave` ends the dialling. Waits between attempts grow, with jitter, and start small again after a session opened.
import { create } from '@bufbuild/protobuf';
import type { CancelTimer, Clock } from '../clock.ts';
import {
  Channel,
  type Frame,
  type FrameBody,
  FrameSchema,
  HeartbeatSchema,
  type Hello,
  HelloSchema,
  LeavingSchema,
  type Specs,
  type Welcome,
  type Wire,
  type WireEvents,
} from '../protocol/index.ts';
import { Lease, UNANSWERED_MAX } from './lease.ts';

export interface RunnerIdentity {
  readonly runner: string;
  /** "namespace/name". */
  readonly pipeline: string;
  readonly runnerClass: string;
  readonly slots: number;
  readonly gpus: number;
}

/** What the link tells the engine's thread. `opening` counts reports; words about an older one are to be dropped. */
export interface LinkOwner {
  /** An operator answered that does not know what this runner holds: a report must follow. */
  opened(opening: number, epoch: number): void;
  /** What the operator said. */
  batch(opening: number, bytes: Uint8Array): void;
  /** Batches up to this one arrived there; the report is the first. */
  acknowledged(opening: number, batch: number): void;
  /** Another batch would go out at once. */
  ready(opening: number): void;
  /** The session is over: everything must stop, and `stopped` be called when it has. */
  over(why: string): void;
  specs(specs: Specs): void;
  /** Runs did not stop though their lease is long over: only the end of the process helps. */
  kill(why: string): void;
  /** For the log: what happened on the link. */
  note(text: string): void;
}

export interface LinkOptions {
  readonly clock: Clock;
  /** Between 0 and 1. */
  readonly random: () => number;
  readonly newId: () => string;
  readonly identity: RunnerIdentity;
  readonly owner: LinkOwner;
  /** Opens a stream; `events` may be called before it returns. Attempts count up, so that addresses can be tried in turn. */
  readonly dial: (attempt: number, events: WireEvents) => Wire;
  /** How long runs may take to stop once the lease is over. */
  readonly stopGraceMs?: number;
}

/** Versions of the protocol that this runner speaks. */
const VERSION = 1;
const GREETING_MAX_MS = 10_000;
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 5_000;
const STOP_GRACE_MS = 15_000;

type LinkState =
  | { readonly phase: 'waiting'; readonly wake: CancelTimer }
  | { readonly phase: 'greeting'; readonly wire: Wire; readonly askedAtMs: number; readonly giveUp: CancelTimer }
  | { readonly phase: 'open'; readonly wire: Wire; readonly beat: CancelTimer }
  /** The session is over and its runs have not stopped. */
  | { readonly phase: 'stopping'; readonly kill: CancelTimer }
  | { readonly phase: 'left' };

interface Session {
  readonly id: string;
  channel: Channel;
  /** Operator that knows it; empty: none. */
  operator: string;
}

export class RunnerLink {
  readonly #options: LinkOptions;
  readonly #clock: Clock;
  readonly #owner: LinkOwner;
  #state: LinkState;
  #session: Session;
  readonly #ended: string[] = [];
  /** Counts reports: words that belong to an older one are dropped. */
  #opening = 0;
  /** Frames that the batches of this opening went with and that are not acknowledged, and how many were. */
  #batchFrames: number[] = [];
  #batchesAcknowledged = 0;
  #attempt = 0;
  #failures = 0;
  #epochSeen = 0;
  readonly #lease: Lease;
  #heartbeatMs = 5_000;
  #busyMs = 0;
  #leavingWhy: string | undefined;
  /** Streams are numbered, so that the last words of an old one are not taken for those of the present one. */
  #stream = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#owner = options.owner;
    this.#lease = new Lease(options.clock, () => this.#isLeaseOver());
    this.#session = this.#newSession();
    this.#state = { phase: 'waiting', wake: () => {} };
  }

  /** Begins to dial. */
  start(): void {
    this.#dial();
  }

  get phase(): LinkState['phase'] {
    return this.#state.phase;
  }

  /** Whether another batch would go out at once. */
  get canSend(): boolean {
    return this.#state.phase === 'open' && this.#session.channel.canSend;
  }

  /** What the engine said. It is dropped if it belongs to an older opening. */
  sendBatch(opening: number, bytes: Uint8Array): void {
    this.#sendFor(opening, { case: 'batch', value: bytes });
  }

  /** What the runner holds, as the answer to `opened`; it counts as the first batch. */
  sendReport(opening: number, bytes: Uint8Array): void {
    this.#sendFor(opening, { case: 'report', value: bytes });
    if (opening === this.#opening && this.#leavingWhy !== undefined) this.#sendLeaving(false);
  }

  /** How long the engine's thread has not answered; shown with the heartbeat. */
  set busyMs(busyMs: number) {
    this.#busyMs = busyMs;
  }

  /** Nothing of the session that is over executes any more. */
  stopped(): void {
    if (this.#state.phase !== 'stopping') return;
    this.#state.kill();
    this.#ended.push(this.#session.id);
    this.#session = this.#newSession();
    this.#dial();
  }

  /** The runner takes no new runs. */
  leave(why: string): void {
    if (this.#leavingWhy !== undefined) return;
    this.#leavingWhy = why;
    this.#sendLeaving(false);
  }

  /** The runner holds nothing any more and goes. */
  gone(): void {
    this.#sendLeaving(true);
  }

  /** Ends the link at once. */
  close(): void {
    this.#end('the runner ends');
    this.#lease.end();
    this.#state = { phase: 'left' };
  }

  // ---- dialling ---------------------------------------------------------------------------------------------------

  #dial(): void {
    const stream = ++this.#stream;
    const ifCurrent = (act: () => void) => {
      if (stream === this.#stream && !this.#isLeaseOver()) act();
    };
    const giveUp = this.#clock.after(GREETING_MAX_MS, () =>
      ifCurrent(() => this.#broke('the operator did not answer')),
    );
    // The stream may break before `dial` returns: then `#broke` has moved on already.
    const wire = this.#options.dial(this.#attempt++, {
      frame: (frame) => ifCurrent(() => this.#received(frame)),
      closed: (why) => ifCurrent(() => this.#broke(why)),
      drained: () => ifCurrent(() => this.#tellIfReady()),
    });
    if (stream !== this.#stream) {
      giveUp();
      return;
    }
    this.#state = { phase: 'greeting', wire, askedAtMs: this.#clock.nowMs(), giveUp };
    wire.send(
      create(FrameSchema, {
        acknowledged: this.#session.channel.received,
        what: { case: 'hello', value: this.#hello() },
      }),
    );
  }

  #hello(): Hello {
    const { id, operator } = this.#session;
    return create(HelloSchema, {
      ...this.#options.identity,
      version: VERSION,
      session: id,
      operator,
      endedSessions: this.#ended,
      epochSeen: this.#epochSeen,
    });
  }

  /** The stream is of no use any more; another one follows, after a wait (N5). */
  #broke(why: string): void {
    this.#options.owner.note(why);
    this.#end(why);
    const ceilingMs = Math.min(BACK_OFF_MIN_MS * 2 ** this.#failures++, BACK_OFF_MAX_MS);
    const delayMs = ceilingMs * (0.5 + this.#options.random() / 2);
    this.#state = { phase: 'waiting', wake: this.#clock.after(delayMs, () => this.#dialUnlessOver()) };
  }

  #dialUnlessOver(): void {
    if (!this.#isLeaseOver()) this.#dial();
  }

  /** Leaves the present state: its timers stop, its stream is closed. */
  #end(why: string): void {
    const state = this.#state;
    this.#stream++;
    this.#session.channel.detach();
    this.#lease.forgetQuestions();
    if (state.phase === 'waiting') state.wake();
    if (state.phase === 'greeting') state.giveUp();
    if (state.phase === 'open') state.beat();
    if (state.phase === 'stopping') state.kill();
    if (state.phase === 'greeting' || state.phase === 'open') state.wire.close(why);
  }

  // ---- what arrives -----------------------------------------------------------------------------------------------

  #received(frame: Frame): void {
    const state = this.#state;
    if (state.phase === 'greeting') {
      if (frame.what.case === 'welcome') this.#welcomed(state, frame.what.value, frame.acknowledged);
      else if (frame.what.case === 'refused') this.#refused(frame.what.value.reason, frame.what.value.message);
      return;
    }
    if (state.phase !== 'open') return;
    if (frame.what.case === 'heartbeatAnswer') this.#lease.answered(frame.what.value.number);
    let isNew: boolean;
    try {
      isNew = this.#session.channel.accept(frame);
    } catch (error) {
      this.#broke(error instanceof Error ? error.message : String(error));
      return;
    }
    this.#tellAcknowledged(frame.acknowledged);
    if (!isNew) return;
    if (frame.what.case === 'batch') this.#owner.batch(this.#opening, frame.what.value);
    else if (frame.what.case === 'specs') this.#owner.specs(frame.what.value);
  }

  #welcomed(greeting: LinkState & { phase: 'greeting' }, welcome: Welcome, acknowledged: number): void {
    if (welcome.epoch < this.#epochSeen) {
      this.#broke(
        `an operator of epoch ${welcome.epoch} answered; this runner has worked for epoch ${this.#epochSeen}`,
      );
      return;
    }
    this.#epochSeen = welcome.epoch;
    this.#heartbeatMs = welcome.heartbeatMs;
    this.#failures = 0;
    this.#attempt = 0;
    this.#ended.length = 0;
    greeting.giveUp();
    this.#state = { phase: 'open', wire: greeting.wire, beat: () => {} };
    this.#lease.granted(welcome.leaseTimeoutMs, greeting.askedAtMs);
    if (!welcome.resumed) this.#forgetChannel(welcome.operator);
    this.#session.channel.attach(greeting.wire, acknowledged);
    if (welcome.specs !== undefined) this.#owner.specs(welcome.specs);
    if (welcome.resumed) this.#tellAcknowledged(acknowledged);
    else this.#owner.opened(++this.#opening, welcome.epoch);
    this.#beat();
    this.#tellIfReady();
  }

  /** What was said to another operator is part of the report that follows. */
  #forgetChannel(operator: string): void {
    this.#session.channel = new Channel();
    this.#session.operator = operator;
    this.#batchFrames = [];
    this.#batchesAcknowledged = 0;
  }

  #refused(reason: string, message: string): void {
    if (reason === 'session-over') this.#stop(message);
    else this.#broke(`the operator refused this runner: ${message}`);
  }

  #sendFor(opening: number, what: FrameBody): void {
    if (opening !== this.#opening) return;
    this.#batchFrames.push(this.#session.channel.send(what));
    this.#tellIfReady();
  }

  #sendLeaving(gone: boolean): void {
    this.#session.channel.send({
      case: 'leaving',
      value: create(LeavingSchema, { gone, why: this.#leavingWhy ?? '' }),
    });
  }

  #tellAcknowledged(frame: number): void {
    let count = 0;
    while (count < this.#batchFrames.length && this.#batchFrames[count]! <= frame) count++;
    if (count > 0) {
      this.#batchFrames.splice(0, count);
      this.#batchesAcknowledged += count;
      this.#owner.acknowledged(this.#opening, this.#batchesAcknowledged);
    }
    this.#tellIfReady();
  }

  #tellIfReady(): void {
    if (this.canSend) this.#owner.ready(this.#opening);
  }

  // ---- the lease --------------------------------------------------------------------------------------------------

  #beat(): void {
    if (this.#state.phase !== 'open') return;
    const number = this.#lease.ask();
    if (number === undefined) {
      this.#broke(`the operator left ${UNANSWERED_MAX} heartbeats unanswered`);
      return;
    }
    this.#session.channel.sendUnnumbered({
      case: 'heartbeat',
      value: create(HeartbeatSchema, { number, busyMs: this.#busyMs }),
    });
    const { wire } = this.#state;
    this.#state = { phase: 'open', wire, beat: this.#clock.after(this.#heartbeatMs, () => this.#beatUnlessOver()) };
  }

  #beatUnlessOver(): void {
    if (!this.#isLeaseOver()) this.#beat();
  }

  /** N3: the first thing that every event asks, since timers can be late. True: the session has ended, here or before. */
  #isLeaseOver(): boolean {
    if (this.#state.phase === 'stopping' || this.#state.phase === 'left') return true;
    if (!this.#lease.isOver) return false;
    this.#stop(`no operator was reached for ${Math.round(this.#lease.timeoutMs / 1000)} s`);
    return true;
  }

  /** The session is over: what it granted must stop before anything else begins. */
  #stop(why: string): void {
    this.#end(why);
    this.#lease.end();
    this.#opening++;
    const graceMs = this.#options.stopGraceMs ?? STOP_GRACE_MS;
    this.#state = { phase: 'stopping', kill: this.#clock.after(graceMs, () => this.#owner.kill(why)) };
    this.#owner.over(why);
  }

  #newSession(): Session {
    return { id: this.#options.newId(), channel: new Channel(), operator: '' };
  }
}
