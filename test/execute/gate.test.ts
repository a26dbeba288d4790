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
  test('lets one in alone once all have left, and the others after it, in order of arrival', async () => {
    for (const name of ['a', 'b']) void enter(name);
    void enter('alone', true);
    for (const name of ['c', 'd']) void enter(name);
    void enter('alone too', true);
    await settled();
    expect(inside).toEqual(['a', 'b']);
    await leave();
    expect(inside).toEqual(['a', 'b']);
    await leave();
    expect(inside).toEqual(['a', 'b', 'alone']);
    await leave();
    expect(inside).toEqual(['a', 'b', 'alone', 'c', 'd']);
    await leave();
    await leave();
    expect(inside.at(-1)).toBe('alone too');
  });

  test('lets the next in when one gives up who waited to be alone', async () => {
    const cancellation = new Cancellation();
    void enter('a');
    const gaveUp = expect(enter('alone', true, cancellation)).rejects.toThrow('cancelled: stop');
    void enter('b');
    await settled();
    expect(inside).toEqual(['a']);
    cancellation.cancel('stop');
    await gaveUp;
    await settled();
    expect(inside).toEqual(['a', 'b']);
  });

  test('whoever is cancelled at the moment he is let in has left', async () => {
    const cancellation = new Cancellation();
    void enter('a');
    const gaveUp = expect(enter('alone', true, cancellation)).rejects.toThrow('cancelled: stop');
    void enter('b');
    await settled();
    cancellation.cancel('stop');
    gate.leave();
    await gaveUp;
    await settled();
    expect(inside).toEqual(['a', 'b']);
  });
});
