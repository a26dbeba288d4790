// The stream of events on its bounds, over real connections. S1 and S2 are the invariants at the head of operator/api/stream.ts.
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Stream } from '../../operator/api/stream.ts';
import { eventually } from '../support/eventually.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server whose every answer is the stream, or 503 where that takes no more listeners. */
async function streamOf(picture: () => object) {
  const clock = new VirtualClock();
  const stream = new Stream(clock, picture);
  const server = createServer((_, answer) => {
    if (!stream.add(answer)) answer.writeHead(503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    stream.close();
    server.closeAllConnections();
    server.close();
  });
  return { clock, stream, port: (server.address() as AddressInfo).port };
}

/** Somebody who listens and has read nothing yet. */
const listen = (port: number): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, resolve).once('error', reject);
  });

test('S1: so many listen and no more; who leaves makes room', async () => {
  const { stream, port } = await streamOf(() => ({}));
  const listeners = await Promise.all(Array.from({ length: 32 }, () => listen(port)));
  expect(listeners.map(({ statusCode }) => statusCode)).toEqual(listeners.map(() => 200));
  expect((await listen(port)).statusCode).toBe(503);
  listeners[0]!.destroy();
  await eventually(
    () => stream.listeners,
    (count) => count === 31,
    'one has left',
  );
  expect((await listen(port)).statusCode).toBe(200);
});

test('S1: a listener that does not read is let go, and one beside it that reads is not', async () => {
  let number = 0;
  const { clock, stream, port } = await streamOf(() => ({ number: ++number, text: 'x'.repeat(1 << 20) }));
  const sleeper = await listen(port);
  sleeper.pause();
  const reader = await listen(port);
  await pictureIn(reader);
  for (let turn = 1; stream.listeners === 2; turn++) {
    expect(turn, 'a listener may not leave that much unread').toBeLessThan(64);
    clock.advance(1_000);
    await pictureIn(reader);
  }
  expect(stream.listeners).toBe(1);
  expect(reader.destroyed).toBe(false);
});

/** Reads up to the end of a picture. */
async function pictureIn(reader: IncomingMessage): Promise<void> {
  for await (const part of reader.iterator({ destroyOnReturn: false })) if (`${part}`.endsWith('\n\n')) return;
}

test('S2: where nobody listens no picture is made', async () => {
  let pictures = 0;
  const { clock, stream, port } = await streamOf(() => ({ pictures: ++pictures }));
  clock.advance(60_000);
  expect(pictures).toBe(0);
  const listener = await listen(port);
  listener.resume();
  listener.destroy();
  await eventually(
    () => stream.listeners,
    (count) => count === 0,
    'the listener has left',
  );
  const seen = pictures;
  clock.advance(60_000);
  expect(pictures).toBe(seen);
});
