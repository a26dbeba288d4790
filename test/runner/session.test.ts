// The engine's side of the link: which orders reach the engine (J3 of runner/session).
import { expect, test } from 'vitest';
import { DownWriter, type RunOrder } from '../../runner/protocol/index.ts';
import { RunnerSession } from '../../runner/session/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';

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
