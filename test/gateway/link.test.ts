// The real link: operator and runner over TLS on loopback, the runner's end on a thread of its own.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../operator/clock.ts';
import { Dispatcher } from '../../operator/dispatch/index.ts';
import { Gateway, type GatewayServer, serveGateway, sharedToken } from '../../operator/gateway/index.ts';
import { selfSigned } from '../../operator/standalone/index.ts';
import { NO_COUNTS, type Runner, type RunOrder, SpecsSchema, type Uplink } from '../../runner/protocol/index.ts';
import { type Connection, connect } from '../../runner/session/index.ts';

const HOST = '127.0.0.1';
const certificate = await selfSigned([HOST, 'localhost'], Date.now());

let folder: string;
let dispatcher: Dispatcher;
let gateway: Gateway;
let server: GatewayServer;
let connections: Connection[];
let told: string[];
let tell: () => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-link-'));
  writeFileSync(join(folder, 'token'), 'a secret\n');
  writeFileSync(join(folder, 'wrong'), 'a guess\n');
  connections = [];
  told = [];
  tell = () => {};
  const note = (text: string) => {
    told.push(text);
    tell();
  };
  dispatcher = new Dispatcher({ clock: systemClock, slotsMax: 64, epoch: 1 });
  const specs = () => create(SpecsSchema, { generation: 7, pipeline: '{"a":1}', sources: [{ name: 's', spec: '{}' }] });
  gateway = new Gateway({
    clock: systemClock,
    epoch: 1,
    operator: 'this process',
    pools: { find: (name) => (name === 'test/code' ? { host: dispatcher, specs } : undefined) },
    defer: setImmediate,
    events: {
      joined: (runner) => note(`${runner} joined`),
      left: (runner, why) => note(`${runner} left: ${why}`),
      refused: (_, reason) => note(`refused: ${reason}`),
    },
  });
  const { cert, key } = certificate;
  server = await serveGateway({ gateway, authenticate: sharedToken('a secret'), cert, key, host: HOST, port: 0 });
});

afterEach(async () => {
  await Promise.all(connections.map((connection) => connection.close()));
  gateway.close('the test ends');
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Waits until the gateway said so. */
function until(text: string): Promise<void> {
  return new Promise((resolve) => {
    tell = () => {
      if (told.some((line) => line.includes(text))) resolve();
    };
    tell();
  });
}

interface Joined {
  readonly connection: Connection;
  readonly notes: string[];
  readonly specs: unknown[];
}

function join_(name: string, engine: Partial<Runner>, options: { token?: string; pipeline?: string } = {}): Joined {
  const notes: string[] = [];
  const specs: unknown[] = [];
  const silent: Runner = {
    start() {},
    cancel() {},
    renewed() {},
    mountStarted() {},
    mountEnded() {},
    cardGranted() {},
    cardRefused() {},
  };
  const connection = connect({
    engine: { ...silent, ...engine },
    identity: { runner: name, pipeline: options.pipeline ?? 'test/code', runnerClass: 'cpu', slots: 8, gpus: 0 },
    addresses: [`https://${HOST}:${server.port}`],
    ca: certificate.cert,
    tokenFile: join(folder, options.token ?? 'token'),
    onSpecs: (given) => specs.push(given),
    onNote: (text) => notes.push(text),
  });
  connections.push(connection);
  return { connection, notes, specs };
}

/** An engine that ends every run at once; a root mounts `children` first and waits for them. */
function emptyRuns(children: number, uplink: () => Uplink): Partial<Runner> {
  let left = children;
  const done = { kind: 'done', counts: NO_COUNTS } as const;
  return {
    start: ({ kind, token }: RunOrder) => {
      if (kind !== 'pipeline') uplink().exited(token.run, done);
      else {
        for (let i = 0; i < children; i++) {
          uplink().mount(token.run, { mount: i, path: `s/${i}`, kind: 'item', source: 's', key: `${i}`, version: 'v' });
        }
      }
    },
    mountEnded: (parent) => {
      if (--left === 0) uplink().exited(parent, done);
    },
  };
}

test('an update of a thousand runs goes through two runners over TLS', async () => {
  const ended = new Promise<string>((resolve) => {
    dispatcher.startUpdate({
      kind: 'pipeline',
      trigger: 'test',
      observer: { ended: (_, { result }) => resolve(result) },
    });
  });
  const one: Joined = join_(
    'one',
    emptyRuns(1000, () => one.connection.session.uplink),
  );
  const two: Joined = join_(
    'two',
    emptyRuns(1000, () => two.connection.session.uplink),
  );
  expect(await ended).toBe('Succeeded');
  expect([one.specs, two.specs].some((specs) => specs.length > 0)).toBe(true);
});

test('whoever does not know the token, or asks for a Pipeline that is not here, joins nothing', async () => {
  const stranger = join_('stranger', {}, { token: 'wrong' });
  join_('lost', {}, { pipeline: 'test/other' });
  await until('there is no Pipeline test/other');
  await expect.poll(() => stranger.notes.join('\n')).toContain('the token is not known here');
  expect([...dispatcher.seats()]).toEqual([]);
});

test('a runner that leaves says so, and is forgotten at once', async () => {
  const { connection } = join_('leaver', {});
  await until('leaver joined');
  connection.session.leave('it was asked to', () => {});
  await until('leaver left: it was asked to');
  expect([...dispatcher.seats()]).toEqual([]);
});

test('what an operator decided before it ended still reaches its runners', async () => {
  const started: string[] = [];
  const closed = Promise.withResolvers<void>();
  const { notes } = join_('one', { start: ({ path }) => void started.push(path) });
  await until('one joined');
  for (const name of ['a', 'b', 'c']) {
    dispatcher.openSource({ name });
    dispatcher.startUpdate({ kind: 'cycle', source: name, trigger: 'test' });
  }
  gateway.close('the operator ends');
  void server.close().then(closed.resolve);
  await closed.promise;
  await expect.poll(() => notes.length).toBeGreaterThan(0);
  expect(started).toEqual(['a', 'b', 'c']);
});

test('connections that never say a word do not keep an operator from ending', async () => {
  const silent = connectTcp(server.port, HOST);
  const quiet = connectTls({ port: server.port, host: HOST, ca: certificate.cert, ALPNProtocols: ['h2'] });
  await Promise.all([once(silent, 'connect'), once(quiet, 'secureConnect')]);
  const ended = [silent, quiet].map((socket) =>
    once(
      socket.resume().on('error', () => {}),
      'close',
    ),
  );
  await server.close();
  await Promise.all(ended);
});
