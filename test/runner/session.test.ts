// The engine's side of the link: which orders reach the engine (J3 of runner/session), and who hears of ends at once (J5).
import { expect, test } from 'vitest';
import {
  DownWriter,
  deliverUp,
  type RunNumber,
  type RunOrder,
  type RunOutcome,
  type Uplink,
} from '../../runner/protocol/index.ts';
import { RunnerSession } from '../../runner/session/index.ts';
import { DONE, FAILED, ScriptedRunner } from '../support/scripted-runner.ts';

const order = (epoch: number, attempt = 1): RunOrder => ({
  token: { epoch, run: 1, attempt },
  update: 'docs-1-1',
  path: 'docs',
  kind: 'cycle',
});

test('an order of another epoch than the session, or not newer than the one that is held, reaches no engine', () => {
  const engine = new ScriptedRunner();
  const nothing = () => {};
  const link = { sendBatch: nothing, sendReport: nothing, stopped: nothing, leave: nothing, gone: nothing };
  const session = new RunnerSession({ engine, link, defer: nothing });
  engine.uplink = session.uplink;
  session.opened(1, 2);
  const tell = (epoch: number, attempt?: number) => {
    const writer = new DownWriter(epoch);
    writer.start(order(epoch, attempt));
    session.batch(1, writer.take());
  };
  tell(1);
  expect(engine.orders, 'the operator before').toEqual([]);
  tell(2);
  tell(2);
  tell(3);
  expect(engine.orders.map(({ token }) => token)).toEqual([{ epoch: 2, run: 1, attempt: 1 }]);
  tell(2, 2);
  expect(engine.orders.map(({ token }) => token.attempt)).toEqual([1, 2]);
});

test('J5: a run hears of its last child that is done in the turn in which it ended, so that both ends go out in one batch, and it hears once', () => {
  const it = new MountedPair();
  it.engine.onMountEnded = (parent) => it.session.uplink.exited(parent, DONE);
  it.session.uplink.exited(CHILD, DONE);
  expect(it.engine.heard, 'not from inside the call').toEqual([]);
  it.turnEnds();
  expect(it.engine.heard).toEqual(['1/7 done']);
  expect(it.ended()).toEqual([[CHILD, PARENT]]);
  it.tell((writer) => writer.mountEnded(PARENT, 7, DONE));
  expect(it.engine.heard, 'whoever says it again').toEqual(['1/7 done']);
});

test('J5: a child that failed is for the operator to judge: its parent hears of it from there', () => {
  const it = new MountedPair();
  it.session.uplink.exited(CHILD, FAILED);
  it.turnEnds();
  expect(it.engine.heard).toEqual([]);
  it.tell((writer) => writer.mountEnded(PARENT, 7, FAILED));
  expect(it.engine.heard).toEqual(['1/7 failed']);
});

test('J5: after another opening, ends are for the operator to tell, which may have given the place of a child to another run', () => {
  const it = new MountedPair();
  it.session.opened(2, 2);
  it.session.uplink.exited(CHILD, DONE);
  it.turnEnds();
  expect(it.engine.heard).toEqual([]);
});

test('J5: what was done before another opening has been heard of before the report, which has that mount no more', () => {
  const it = new MountedPair();
  it.session.uplink.exited(CHILD, DONE);
  it.session.opened(2, 2);
  expect(it.engine.heard).toEqual(['1/7 done']);
});

const PARENT = 1;
const CHILD = 2;

/** A run that executes here and its child, started for its mount 7. */
class MountedPair {
  readonly engine = new ListeningRunner();
  readonly session: RunnerSession;
  readonly #batches: Uint8Array[] = [];
  #flush = () => {};

  constructor() {
    const nothing = () => {};
    this.session = new RunnerSession({
      engine: this.engine,
      link: {
        sendBatch: (_, bytes) => void this.#batches.push(bytes),
        sendReport: nothing,
        stopped: nothing,
        leave: nothing,
        gone: nothing,
      },
      defer: (flush) => {
        this.#flush = flush;
      },
    });
    this.session.opened(1, 1);
    this.tell((writer) => writer.start(order(1)));
    this.session.uplink.mount(PARENT, { mount: 7, path: 'docs/a', kind: 'item' });
    this.tell((writer) => writer.startMounted({ epoch: 1, run: CHILD, attempt: 1 }, PARENT, 7));
    this.turnEnds();
    this.#batches.length = 0;
  }

  tell(say: (writer: DownWriter) => void): void {
    const writer = new DownWriter(1);
    say(writer);
    this.session.batch(1, writer.take());
  }

  turnEnds(): void {
    this.#flush();
  }

  /** Runs whose ends went out, batch by batch. */
  ended(): RunNumber[][] {
    return this.#batches.map((bytes) => {
      const runs: RunNumber[] = [];
      deliverUp(bytes, { exited: (run: RunNumber) => void runs.push(run) } as Partial<Uplink> as Uplink);
      return runs;
    });
  }
}

class ListeningRunner extends ScriptedRunner {
  readonly heard: string[] = [];
  onMountEnded: (parent: RunNumber) => void = () => {};

  override mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    this.heard.push(`${parent}/${mount} ${outcome.kind}`);
    this.onMountEnded(parent);
  }
}
