// What both ends of the link keep while the other one does not read: sessions, channel and stream as they are, a stream that the test lets read.
import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import type { Seat } from '../../operator/dispatch/index.ts';
import { Gateway, type RunnerHost } from '../../operator/gateway/index.ts';
import {
  Channel,
  DownWriter,
  deliverDown,
  deliverUp,
  EMPTY_REPORT,
  encodeReport,
  type Frame,
  type FrameBody,
  FrameSchema,
  HelloSchema,
  type LinkedRunner,
  NO_COUNTS,
  Outflow,
  type Runner,
  type RunOrder,
  SpecsSchema,
  type Uplink,
  WINDOW_BYTES,
  type Wire,
  type WireEvents,
} from '../../runner/protocol/index.ts';
import { RunnerSession } from '../../runner/session/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const HELLO = create(HelloSchema, { version: 1, runner: 'r', pipeline: 'test/code', slots: 1, session: 's' });
const RUNS = 5_000;
/** Messages of a stream that wait, beyond which it is not given more. */
const CONGESTED = 8;
const order = (run: number): RunOrder => ({
  token: { epoch: 1, run, attempt: 1 },
  update: 'docs-1-1',
  path: `docs/${run}`,
  kind: 'item',
});

test('an operator gives a runner that does not read eight messages at the most; the rest is one message, and all of it arrives in order', () => {
  const { runner, wire, turnEnds } = operatorWithRunner();
  for (let run = 1; run <= RUNS; run++) {
    runner.start(order(run));
    turnEnds();
  }
  expect(wire.unread, 'while it does not read').toBe(CONGESTED);
  wire.read();
  expect(wire.unread, 'what was collected meanwhile').toBe(1);
  wire.read();
  const started: number[] = [];
  const engine = {
    start: ({ token }: RunOrder) => void started.push(token.run),
  } as Partial<LinkedRunner> as LinkedRunner;
  for (const { what } of wire.sent) if (what.case === 'batch') deliverDown(what.value, engine);
  expect(started).toEqual(numbers(RUNS));
});

test('a runner gives its link four messages ahead at the most; the rest is one message, and all of it arrives in order', () => {
  const { session, batches, turnEnds } = runnerThatExecutes(RUNS);
  for (let run = 1; run <= RUNS; run++) {
    session.uplink.exited(run, { kind: 'done', counts: NO_COUNTS });
    turnEnds();
  }
  expect(batches.length, 'while the link does not say that it is ready').toBe(4);
  session.ready(1);
  turnEnds();
  expect(batches.length, 'what was collected meanwhile').toBe(5);
  const ended: number[] = [];
  const operator = { exited: (run: number) => void ended.push(run) } as Partial<Uplink> as Uplink;
  for (const bytes of batches) deliverUp(bytes, operator);
  expect(ended).toEqual(numbers(RUNS));
});

test('H3: what the other end has not acknowledged is kept up to the window and no further, though the stream take more', () => {
  const channel = new Channel();
  channel.attach({ send: () => {}, isCongested: false, close: () => {} }, 0);
  const megabyte = { case: 'batch', value: new Uint8Array(2 ** 20) } satisfies FrameBody;
  let sent = 0;
  for (; channel.canSend; sent++) channel.send(megabyte);
  expect(sent).toBeLessThanOrEqual(WINDOW_BYTES / 2 ** 20);
  channel.accept(create(FrameSchema, { acknowledged: 1 }));
  expect(channel.canSend, 'one was acknowledged').toBe(true);
});

test('what an end asks without ever reading the answers does not fill the memory: the stream is given up', async () => {
  let isGivenUp = false;
  const outflow = new Outflow<number>({ drained: () => {}, unread: () => (isGivenUp = true) });
  let pushed = 0;
  while (!isGivenUp) outflow.push(++pushed);
  expect(pushed).toBeLessThan(20_000);
  outflow.push(++pushed);
  const left: number[] = [];
  for await (const message of outflow) left.push(message);
  expect(left, 'what waited is dropped, nothing more goes out').toEqual([]);
});

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const frame = (number: number, what: FrameBody): Frame => create(FrameSchema, { number, acknowledged: 0, what });

/** A stream whose other end reads when the test says so. */
class UnreadWire implements Wire {
  readonly sent: Frame[] = [];
  events!: WireEvents;
  #read = 0;

  get unread(): number {
    return this.sent.length - this.#read;
  }

  get isCongested(): boolean {
    return this.unread >= CONGESTED;
  }

  send(frame: Frame): void {
    this.sent.push(frame);
  }

  read(): void {
    this.#read = this.sent.length;
    this.events.drained();
  }

  close(): void {}
}

/** A runner that joined and has read what it was told so far. */
function operatorWithRunner() {
  const turns = new Turns();
  let runner!: Runner;
  const nothing = () => {};
  const host: RunnerHost = {
    adoptRunner: (start) => {
      runner = start.runner;
      return { seat: { executing: 1 } as Seat, uplink: {} as Uplink };
    },
    drainRunner: nothing,
    silenceRunner: nothing,
    resumeRunner: nothing,
    removeRunner: nothing,
    expectRunner: nothing,
    unexpectRunner: nothing,
  };
  const gateway = new Gateway({
    clock: new VirtualClock(0),
    epoch: 1,
    operator: 'this one',
    pools: { find: () => ({ host, specs: () => create(SpecsSchema, {}) }) },
    defer: turns.defer,
  });
  const wire = new UnreadWire();
  wire.events = gateway.accept({ name: 'r', mayServe: () => true, isExclusive: false }, wire);
  wire.events.frame(frame(0, { case: 'hello', value: HELLO }));
  wire.events.frame(frame(1, { case: 'report', value: encodeReport(EMPTY_REPORT) }));
  wire.read();
  return { runner, wire, turnEnds: () => turns.end() };
}

function runnerThatExecutes(runs: number) {
  const turns = new Turns();
  const batches: Uint8Array[] = [];
  const nothing = () => {};
  const session = new RunnerSession({
    engine: new ScriptedRunner(),
    defer: turns.defer,
    link: {
      sendBatch: (_, bytes) => void batches.push(bytes),
      sendReport: nothing,
      stopped: nothing,
      leave: nothing,
      gone: nothing,
    },
  });
  session.opened(1, 1);
  const writer = new DownWriter(1);
  for (const run of numbers(runs)) writer.start(order(run));
  session.batch(1, writer.take());
  return { session, batches, turnEnds: () => turns.end() };
}

/** Turns of the event loop that end when the test says so. */
class Turns {
  #flush: (() => void) | undefined;
  readonly defer = (flush: () => void): void => {
    this.#flush = flush;
  };

  end(): void {
    const flush = this.#flush;
    this.#flush = undefined;
    flush?.();
  }
}
