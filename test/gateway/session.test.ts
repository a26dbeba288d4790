// What a session tells a runner, with a stream and a Pipeline that the test plays.
import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import type { Seat } from '../../operator/dispatch/index.ts';
import { Gateway, LEASE_DEFAULTS, type RunnerHost } from '../../operator/gateway/index.ts';
import {
  EMPTY_REPORT,
  encodeReport,
  type Frame,
  FrameSchema,
  HelloSchema,
  type Runner,
  type RunOrder,
  SpecsSchema,
  type Uplink,
} from '../../runner/protocol/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const ORDER: RunOrder = { token: { epoch: 1, run: 1, attempt: 1 }, update: 'u', path: 'docs', kind: 'cycle' };

test('a runner is told of no run beyond its slots that the roster does not take: another operator counts on what is written there', () => {
  const field = new Field();
  field.start();
  expect(field.sent.at(-1), 'one run in one slot').toBe('batch');
  field.seat!.executing = 2;
  field.isLeader = false;
  field.start();
  expect(field.sent.filter((what) => what === 'batch').length, 'the second goes nowhere').toBe(1);
  expect(field.closedWhy).toBe('another operator leads');
});

/** A gateway with one runner of one slot that has joined. */
class Field {
  readonly sent: (string | undefined)[] = [];
  isLeader = true;
  closedWhy: string | undefined;
  seat: Seat | undefined;
  #runner!: Runner;
  #flush = () => {};

  constructor() {
    const gateway = new Gateway({
      clock: new VirtualClock(0),
      epoch: 1,
      operator: 'old',
      pools: { find: () => ({ host: this.#host(), specs: () => create(SpecsSchema, {}) }) },
      lease: LEASE_DEFAULTS,
      roster: { enter: () => this.isLeader, leave: () => {} },
      defer: (flush) => {
        this.#flush = flush;
      },
    });
    const peer = { name: 'r', mayServe: () => true, isExclusive: false };
    const events = gateway.accept(peer, {
      send: ({ what }) => this.sent.push(what.case),
      isCongested: false,
      close: (why) => {
        this.closedWhy = why;
      },
    });
    const hello = create(HelloSchema, { version: 1, runner: 'r', pipeline: 'test/code', slots: 1, session: 's' });
    events.frame(frame(0, { case: 'hello', value: hello }));
    events.frame(frame(1, { case: 'report', value: encodeReport(EMPTY_REPORT) }));
  }

  /** The dispatcher starts a run there, and its turn ends. */
  start(): void {
    this.#runner.start(ORDER);
    this.#flush();
  }

  #host(): RunnerHost {
    const nothing = () => {};
    return {
      adoptRunner: (start) => {
        this.#runner = start.runner;
        this.seat = { executing: 1 } as Seat;
        return { seat: this.seat, uplink: {} as Uplink };
      },
      drainRunner: nothing,
      silenceRunner: nothing,
      resumeRunner: nothing,
      removeRunner: nothing,
      expectRunner: nothing,
      unexpectRunner: nothing,
    };
  }
}

const frame = (number: number, what: Frame['what']): Frame => create(FrameSchema, { number, acknowledged: 0, what });
