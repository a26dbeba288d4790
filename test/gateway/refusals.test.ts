// Whom the operator's end of the link lets in: real TLS on loopback, and peers that are no good runners.

import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectPlain } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect, onTestFinished, test } from 'vitest';
import { Dispatcher } from '../../operator/dispatch/index.ts';
import { Gateway, serveGateway, sharedToken } from '../../operator/gateway/index.ts';
import { selfSigned } from '../../operator/standalone/index.ts';
import { type Frame, FrameSchema, HelloSchema, RunnerLink, SpecsSchema } from '../../runner/protocol/index.ts';
import { command } from '../support/command.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const HOST = '127.0.0.1';
const { cert, key } = await selfSigned([HOST], Date.now());

test('a connection without TLS gets no word of the protocol', async () => {
  const { port, dispatcher } = await operator();
  const session = connectPlain(`http://${HOST}:${port}`);
  await expect(over(session)).resolves.toBe('over');
  const socket = connectTcp(port, HOST);
  const heard: Buffer[] = [];
  socket.on('data', (data) => heard.push(data)).on('error', () => {});
  socket.end('GET /fairlead HTTP/1.1\r\nhost: operator\r\n\r\n');
  await once(socket, 'close');
  expect(Buffer.concat(heard).toString('latin1')).not.toMatch(/HTTP|grpc/);
  expect([...dispatcher.seats()]).toEqual([]);
});

test('a peer of TLS 1.2 is not let in', async () => {
  const { port } = await operator();
  const socket = connectTls({ port, host: HOST, ca: cert, maxVersion: 'TLSv1.2', ALPNProtocols: ['h2'] });
  const [error] = (await once(socket, 'error')) as [Error & { code?: string }];
  expect(error.code).toMatch(/PROTOCOL_VERSION|ECONNRESET/);
});

test('a runner is given addresses with https only, so that its token goes to nobody without a certificate', async () => {
  const flags = ['--ca', 'tls.crt', '--token', 'token', '--pipeline', 'default/docs'];
  const { code, stderr } = await command(['runner', '--operator', 'http://operator:8443', ...flags]);
  expect(code).toBe(64);
  expect(stderr).toContain('https://HOST:PORT is expected: operators and runners talk over TLS only');
});

test.each([
  ['no token at all', undefined, 'the file that a runner is given (--token) must hold one'],
  ['an empty token', 'Bearer ', 'the file that a runner is given (--token) must hold one'],
  [
    'another way to prove who it is',
    'Basic cnVubmVyOmEgc2VjcmV0',
    'the file that a runner is given (--token) must hold one',
  ],
  ['a wrong token', 'Bearer a guess', "a runner's is the one that this operator wrote"],
  ['a token that begins as the right one', 'Bearer a secre', "a runner's is the one that this operator wrote"],
])('a peer with %s joins nothing and is told what is expected', async (_, authorization, wantTold) => {
  const { port, dispatcher } = await operator();
  const error = await refusal(port, authorization, 1);
  expect(error).toBeInstanceOf(ConnectError);
  expect((error as ConnectError).code).toBe(Code.Unauthenticated);
  expect((error as ConnectError).message).toContain(wantTold);
  expect([...dispatcher.seats()]).toEqual([]);
});

test.each([0, 2])(
  'a runner of version %i of the link is refused, and told which two versions met and what to do',
  async (version) => {
    const { port, dispatcher } = await operator();
    const frames = (await refusal(port, 'Bearer a secret', version)) as Frame[];
    expect(frames.map(({ what }) => what.case)).toEqual(['refused']);
    expect(frames[0]!.what.value).toMatchObject({
      reason: 'version',
      message: `the operator speaks version 1 of the link, the runner ${version}: run both from one release of Fairlead`,
    });
    expect([...dispatcher.seats()]).toEqual([]);
  },
);

async function operator() {
  const clock = new VirtualClock(0);
  const dispatcher = new Dispatcher({ clock, slotsMax: 8, epoch: 1 });
  const gateway = new Gateway({
    clock,
    epoch: 1,
    operator: 'this process',
    pools: { find: () => ({ host: dispatcher, specs: () => create(SpecsSchema, {}) }) },
    defer: setImmediate,
  });
  const server = await serveGateway({ gateway, authenticate: sharedToken('a secret'), cert, key, host: HOST, port: 0 });
  onTestFinished(async () => {
    gateway.close('the test ends');
    await server.close();
  });
  return { port: server.port, dispatcher };
}

/** What a peer hears until its stream ends: the frames, or the error. */
async function refusal(port: number, authorization: string | undefined, version: number): Promise<unknown> {
  const transport = createGrpcTransport({ baseUrl: `https://${HOST}:${port}`, nodeOptions: { ca: cert } });
  const hello = create(HelloSchema, { version, runner: 'r', pipeline: 'test/code', slots: 1, session: 's' });
  const say = async function* () {
    yield create(FrameSchema, { what: { case: 'hello', value: hello } });
  };
  const frames: Frame[] = [];
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  try {
    for await (const frame of createClient(RunnerLink, transport).connect(say(), { headers })) frames.push(frame);
    return frames;
  } catch (error) {
    return error;
  }
}

/** Asks something; resolves when the session is over, with what came back. */
async function over(session: ClientHttp2Session): Promise<string> {
  const answers: string[] = [];
  session.on('error', () => {});
  const stream = session.request({ ':path': '/fairlead.v1.RunnerLink/Connect', ':method': 'POST' });
  stream.on('response', (headers) => answers.push(`${headers[':status']}`)).on('error', () => {});
  await once(session, 'close');
  return answers.join(' ') || 'over';
}
