// Many at once, or one alone.
import { beforeEach, describe, expect, test } from 'vitest';
import { Cancellation } from '../../runner/execute/cancellation.ts';
import { Gate } from '../../runner/execute/gate.ts';

let gate: Gate;
let inside: string[];
beforeEach(() => {
  gate = new Gate();
  inside = [];
});

function enter(name: string, isAlone = false, cancellation = new Cancellation()): Promise<void> {
  const enters = async () => {
    await gate.enter(isAlone, cancellation);
    inside.push(name);
  };
  return enters();
}

/** All that goes on by itself has gone on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const leave = async (): Promise<void> => {
  gate.leave();
  await settled();
};

describe('a gate', () => {
  test('lets one in alone once nobody is inside, and those who came meanwhile after it', async () => {
    for (const name of ['a', 'b']) void enter(name);
    void enter('alone', true);
    void enter('alone too', true);
    void enter('c');
    await settled();
    expect(inside).toEqual(['a', 'b', 'c']);
    for (let left = 0; left < 3; left += 1) await leave();
    void enter('d');
    await settled();
    expect(inside.slice(3)).toEqual(['alone']);
    await leave();
    expect(inside.slice(3)).toEqual(['alone', 'd']);
    await leave();
    expect(inside.slice(3)).toEqual(['alone', 'd', 'alone too']);
  });

  test('who waits to be alone is passed by a thousand others at the most', async () => {
    void enter('first');
    void enter('alone', true);
    await settled();
    for (let at = 0; at < 2_000; at += 1) void enter(`stream ${at}`);
    await settled();
    expect(inside).toHaveLength(1_001);
    for (let left = 0; left < 1_001; left += 1) gate.leave();
    await settled();
    expect(inside.slice(1_001)).toEqual(['alone']);
    await leave();
    expect(inside).toHaveLength(2_002);
  });

  test('lets the next in when one gives up who waited to be alone', async () => {
    const cancellation = new Cancellation();
    void enter('alone', true);
    const gaveUp = expect(enter('alone too', true, cancellation)).rejects.toThrow('cancelled: stop');
    void enter('b');
    await settled();
    cancellation.cancel('stop');
    await gaveUp;
    await leave();
    expect(inside).toEqual(['alone', 'b']);
  });

  test('whoever is cancelled at the moment he is let in has left', async () => {
    const cancellation = new Cancellation();
    void enter('a');
    const gaveUp = expect(enter('alone', true, cancellation)).rejects.toThrow('cancelled: stop');
    await settled();
    cancellation.cancel('stop');
    gate.leave();
    await gaveUp;
    void enter('b');
    await settled();
    expect(inside).toEqual(['a', 'b']);
  });
});
