// The runner's end of the link as it dials, is greeted, and loses its operator: N1 to N5 of runner/session, with streams that the test plays.
import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import {
  type Frame,
  type FrameBody,
  FrameSchema,
  HeartbeatSchema,
  RefusedSchema,
  WelcomeSchema,
  type Wire,
  type WireEvents,
} from '../../runner/protocol/index.ts';
import { RunnerLink } from '../../runner/session/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const LEASE_MS = 120_000;
const HEARTBEAT_MS = 5_000;
const STOP_GRACE_MS = 15_000;

test('N5: waits between attempts grow from a tenth of a second to five seconds, and start small again once an operator answered', () => {
  const it = new Field();
  const waits = Array.from({ length: 8 }, () => it.breakAndDialAgain());
  expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  it.welcome();
  expect(it.breakAndDialAgain()).toBe(100);
});

test('N5: chance takes up to half of a wait away, so that runners do not all come back at once', () => {
  const it = new Field({ chance: 0 });
  expect([it.breakAndDialAgain(), it.breakAndDialAgain()]).toEqual([50, 100]);
});

test('N5: attempts try the addresses in turn, and one that says nothing is given up', () => {
  const it = new Field();
  it.breakAndDialAgain();
  it.clock.advance(10_000);
  expect(it.notes.at(-1)).toBe('the operator did not answer');
  it.dialAgain();
  expect(it.attempts).toEqual([0, 1, 2]);
});

test('N4: an operator with an older epoch than one that this runner has worked for is left at once', () => {
  const it = new Field();
  it.welcome({ epoch: 2 });
  it.breakAndDialAgain();
  it.welcome({ epoch: 1 });
  expect(it.link.phase).toBe('waiting');
  expect(it.notes.at(-1)).toContain('an operator of epoch 1 answered; this runner has worked for epoch 2');
  it.dialAgain();
  expect(it.stream.sent[0]!.what.value, 'it says so to the next one').toMatchObject({ epochSeen: 2 });
});

test('N2: the lease counts from when the question was asked that was answered last, however late the answer came', () => {
  const it = new Field();
  it.welcome();
  it.clock.advance(HEARTBEAT_MS * 2);
  it.answer(1); // asked at 0
  it.stream.events.closed('the network is cut');
  it.isReachable = false;
  it.clock.advance(LEASE_MS - HEARTBEAT_MS * 2 - 1);
  expect(it.told).not.toContain('over');
  it.clock.advance(1);
  expect(it.told).toContain('over');
});

test('N3: a session that is over goes on under no operator, and its runs have time to stop before the process ends', () => {
  const it = new Field();
  it.welcome();
  const late = it.stream;
  it.isReachable = false;
  it.stream.events.closed('the network is cut');
  it.clock.advance(LEASE_MS);
  it.isReachable = true;
  late.events.frame(welcomeOf({}));
  it.clock.advance(STOP_GRACE_MS - 1);
  expect(it.link.phase).toBe('stopping');
  expect(it.told).toEqual(['opened', 'over']);
  it.clock.advance(1);
  expect(it.told).toEqual(['opened', 'over', 'kill']);
});

test('N3 Q3: told that its time was up, a runner stops its runs, and begins another session when they have stopped', () => {
  const it = new Field();
  it.welcome();
  const before = it.session();
  it.breakAndDialAgain();
  it.hear({ case: 'refused', value: create(RefusedSchema, { reason: 'session-over', message: 'its time was up' }) });
  expect(it.told).toEqual(['opened', 'over']);
  it.link.stopped();
  expect(it.stream.sent[0]!.what.value).toMatchObject({ endedSessions: [before] });
  expect(it.session()).not.toBe(before);
});

test('three heartbeats without an answer end a stream, though the network never said that it broke', () => {
  const it = new Field();
  it.welcome();
  it.clock.advance(HEARTBEAT_MS * 3);
  expect(it.notes.at(-1)).toBe('the operator left 3 heartbeats unanswered');
  expect(it.told, 'runs go on').toEqual(['opened']);
});

interface Greeting {
  readonly epoch?: number;
}

const frameOf = (what: FrameBody): Frame => create(FrameSchema, { what });
const welcomeOf = ({ epoch = 1 }: Greeting): Frame => {
  const lease = { leaseTimeoutMs: LEASE_MS, heartbeatMs: HEARTBEAT_MS };
  return frameOf({ case: 'welcome', value: create(WelcomeSchema, { version: 1, epoch, operator: 'o', ...lease }) });
};

interface PlayedStream {
  readonly events: WireEvents;
  readonly sent: Frame[];
}

/** A runner that dials; the test is the operator. */
class Field {
  readonly clock = new VirtualClock(0);
  readonly link: RunnerLink;
  /** What the engine's thread was told. */
  readonly told: string[] = [];
  readonly notes: string[] = [];
  readonly attempts: number[] = [];
  isReachable = true;
  stream!: PlayedStream;
  #sessions = 0;

  constructor({ chance = 1 } = {}) {
    const nothing = () => {};
    this.link = new RunnerLink({
      clock: this.clock,
      random: () => chance,
      newId: () => `session ${++this.#sessions}`,
      identity: { runner: 'r', pipeline: 'test/code', runnerClass: 'cpu', slots: 8, gpus: 0 },
      owner: {
        opened: () => this.told.push('opened'),
        batch: nothing,
        acknowledged: nothing,
        ready: nothing,
        over: () => this.told.push('over'),
        specs: nothing,
        kill: () => this.told.push('kill'),
        note: (text) => this.notes.push(text),
      },
      dial: (attempt, events) => this.#dialled(attempt, events),
      stopGraceMs: STOP_GRACE_MS,
    });
    this.link.start();
  }

  session(): unknown {
    const { what } = this.stream.sent[0]!;
    return what.case === 'hello' ? what.value.session : undefined;
  }

  hear(what: FrameBody): void {
    this.stream.events.frame(frameOf(what));
  }

  welcome(greeting: Greeting = {}): void {
    this.stream.events.frame(welcomeOf(greeting));
  }

  answer(number: number): void {
    this.hear({ case: 'heartbeatAnswer', value: create(HeartbeatSchema, { number }) });
  }

  /** The stream breaks; how long the runner waits before it dials again. */
  breakAndDialAgain(): number {
    this.stream.events.closed('it broke');
    return this.dialAgain();
  }

  dialAgain(): number {
    const fromMs = this.clock.nowMs();
    const attempts = this.attempts.length;
    while (this.attempts.length === attempts) this.clock.step();
    return this.clock.nowMs() - fromMs;
  }

  #dialled(attempt: number, events: WireEvents): Wire {
    this.attempts.push(attempt);
    const sent: Frame[] = [];
    this.stream = { events, sent };
    if (!this.isReachable) events.closed('nobody answers');
    return { send: (frame) => sent.push(frame), isCongested: false, close: () => {} };
  }
}
