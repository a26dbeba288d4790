// Being told to end while nothing listens yet, as the first process of a container.
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { endUnlessHeard } from '../../cli/signals.ts';

function process() {
  const codes: number[] = [];
  const emitter = Object.assign(new EventEmitter(), { exit: (code: number) => codes.push(code) });
  endUnlessHeard(emitter as never);
  return { emitter, codes };
}

test('a process that is told to end before a command listens ends with the code of the signal', () => {
  const { emitter, codes } = process();
  emitter.emit('SIGTERM');
  emitter.emit('SIGINT');
  expect(codes).toEqual([143, 130]);
});

test('once a command listens, how the process ends is its affair', () => {
  const { emitter, codes } = process();
  const heard: string[] = [];
  emitter.once('SIGTERM', () => heard.push('SIGTERM'));
  emitter.emit('SIGTERM');
  expect({ heard, codes }).toEqual({ heard: ['SIGTERM'], codes: [] });
});
