// The source `push` behind a real web server: who may send, what is kept, what is told.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  forgetPushedIn,
  openSource,
  PushSource,
  pushListener,
  SIGNATURE_HEADER,
  signatureOf,
  TIME_HEADER,
} from '../../runner/sources/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { keysOf, listAll, sourceContract, textOf } from './contract.ts';
import { sourceOptions, TempFolder } from './folder.ts';
import { Watching } from './watching.ts';

const SECRET = 'the key of the signatures';
let folder: TempFolder;
let clock: VirtualClock;
let secret: string;
const servers: Server[] = [];

const open = (spec: { maxItemBytes?: string; tolerance?: string } = {}, name = 'docs'): PushSource => {
  const options = sourceOptions(folder, { name, clock, keepDir: folder.path, secret: async () => secret });
  const source = openSource({ push: { secretFrom: { env: 'KEY' }, ...spec } }, options);
  if (!(source instanceof PushSource)) throw new Error('no push source');
  return source;
};

const serve = async (source: PushSource): Promise<string> => {
  const server = createServer(pushListener((path) => (path === '/push/docs' ? source : undefined))).listen(
    0,
    '127.0.0.1',
  );
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

interface Sending {
  readonly key?: string;
  readonly atMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(url: string, body: unknown, { key = SECRET, atMs = clock.nowMs(), headers }: Sending = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const seconds = Math.floor(atMs / 1_000);
  const signed = { [TIME_HEADER]: String(seconds), [SIGNATURE_HEADER]: signatureOf(key, seconds, Buffer.from(text)) };
  const reply = await fetch(`${url}/push/docs`, { method: 'POST', body: text, headers: { ...signed, ...headers } });
  return { status: reply.status, message: ((await reply.json()) as { message: string }).message };
}

beforeEach(() => {
  folder = new TempFolder();
  clock = new VirtualClock();
  secret = SECRET;
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  folder.remove();
});

sourceContract('push', async () => {
  const source = open();
  const url = await serve(source);
  const texts = { a: 'text a', 'b/c': 'text b', 'ü\n': 'tëxt' };
  await send(url, {
    items: [...Object.entries(texts).map(([key, text]) => ({ key, text })), { key: 'gone', text: 'x' }],
  });
  await send(url, { items: [{ key: 'gone', removed: true }] });
  return {
    source,
    items: new Map(Object.entries(texts)),
    strangers: ['gone', 'b'],
    close: async () => await source.close(),
  };
});

it('what was sent is told, kept over a restart, replaced and removed', async () => {
  const source = open();
  const url = await serve(source);
  const watching = await Watching.start(source);
  expect(
    await send(url, {
      items: [
        { key: 'a', text: 'one' },
        { key: 'b', base64: '/wA=' },
      ],
    }),
  ).toEqual({ status: 202, message: '2 items taken' });
  expect(await watching.until({ a: 'changed', b: 'changed' })).toEqual(
    new Map([
      ['a', 'changed'],
      ['b', 'changed'],
    ]),
  );
  const [before] = await listAll(source);
  clock.advance(1_000);
  await send(url, {
    items: [
      { key: 'a', text: 'two' },
      { key: 'b', removed: true },
    ],
  });
  expect(await watching.until({ a: 'changed', b: 'removed' })).toEqual(
    new Map([
      ['a', 'changed'],
      ['b', 'removed'],
    ]),
  );
  await watching.stop();
  await source.close();
  const again = open();
  expect(await keysOf(again)).toEqual(['a']);
  expect(await textOf(again, 'a')).toBe('two');
  expect((await listAll(again))[0]?.version).not.toBe(before?.version);
});

it('an item that is sent again unchanged has the same version', async () => {
  const source = open();
  const url = await serve(source);
  await send(url, { items: [{ key: 'a', text: 'one' }] });
  const before = await listAll(source);
  clock.advance(1_000);
  await send(url, { items: [{ key: 'a', text: 'one' }] });
  expect(await listAll(source)).toEqual(before);
});

it('a message whose signature, time or body does not fit is refused, and nothing of it is kept', async () => {
  const source = open();
  const url = await serve(source);
  const body = { items: [{ key: 'a', text: 'x' }] };
  const refused = async (sending: Sending, text: unknown = body) => (await send(url, text, sending)).status;
  expect(await refused({ key: 'another key' })).toBe(401);
  expect(await refused({ headers: { [SIGNATURE_HEADER]: '' } })).toBe(401);
  expect(await refused({ headers: { [TIME_HEADER]: 'now' } })).toBe(401);
  expect(await refused({ headers: { [TIME_HEADER]: String(Math.floor(clock.nowMs() / 1_000) + 1) } })).toBe(401);
  expect(await refused({ atMs: clock.nowMs() - 301_000 })).toBe(401);
  expect(await refused({ atMs: clock.nowMs() + 302_000 })).toBe(401);
  expect(await keysOf(source)).toEqual([]);
  expect(await refused({ atMs: clock.nowMs() - 299_000 })).toBe(202);
});

it('a message that is played back later does not overwrite what came after it', async () => {
  const source = open();
  const url = await serve(source);
  const old = { items: [{ key: 'a', text: 'old' }] };
  const sentAtMs = clock.nowMs();
  await send(url, old);
  clock.advance(10_000);
  await send(url, { items: [{ key: 'a', text: 'new' }] });
  expect(await send(url, old, { atMs: sentAtMs })).toEqual({ status: 202, message: 'this message was taken before' });
  expect(await textOf(source, 'a')).toBe('new');
});

it('during a change of the key a sender may sign with both; the secret is read for each message', async () => {
  const url = await serve(open());
  const text = JSON.stringify({ items: [{ key: 'a', text: 'x' }] });
  const seconds = Math.floor(clock.nowMs() / 1_000);
  const both = ['old', 'new'].map((key) => signatureOf(key, seconds, Buffer.from(text))).join(', ');
  secret = 'new';
  expect((await send(url, text, { headers: { [SIGNATURE_HEADER]: both } })).status).toBe(202);
});

const malformed: Record<string, { body: unknown; want: string; status?: number }> = {
  'no JSON': { body: '{', want: 'the body is no JSON' },
  null: { body: 'null', want: 'the body must be {"items": [...]}' },
  'no items': { body: { items: [] }, want: 'with 1 to 1000 items' },
  'an item without key': { body: { items: [{ text: 'x' }] }, want: 'items[0].key must be a text' },
  'an empty key': { body: { items: [{ key: '', text: 'x' }] }, want: 'items[0].key' },
  'a key of half a character': { body: '{"items":[{"key":"\\ud800","text":"x"}]}', want: 'items[0].key' },
  'a long key': { body: { items: [{ key: 'k'.repeat(1_025), text: 'x' }] }, want: 'items[0].key' },
  'an item that is null': { body: { items: [null] }, want: 'items[0].key' },
  'an item with nothing': {
    body: { items: [{ key: 'a', text: 'x' }, { key: 'b' }] },
    want: 'items[1] must hold exactly one of',
  },
  'an item with two contents': {
    body: { items: [{ key: 'a', text: 'x', base64: 'eA==' }] },
    want: 'items[0] must hold exactly one of',
  },
  'a text that is a number': { body: { items: [{ key: 'a', text: 7 }] }, want: 'items[0] must hold exactly one of' },
  'bad base64': { body: { items: [{ key: 'a', base64: 'e#A=' }] }, want: 'items[0] must hold exactly one of' },
  'an item above the bound': {
    body: { items: [{ key: 'a', text: 'x'.repeat(1_025) }] },
    want: 'items[0] has 1025 bytes; at most 1024',
    status: 413,
  },
};
for (const [what, { body, want, status = 400 }] of Object.entries(malformed)) {
  it(`a body with ${what} is refused whole`, async () => {
    const source = open({ maxItemBytes: '1Ki' });
    const reply = await send(await serve(source), body);
    expect(reply).toMatchObject({ status, message: expect.stringContaining(want) });
    expect(await keysOf(source)).toEqual([]);
  });
}

it('a body above the bound, another method and another path are refused', async () => {
  const source = open();
  const url = await serve(source);
  expect((await send(url, 'x'.repeat((16 << 20) + 1))).status).toBe(413);
  expect((await fetch(`${url}/push/docs`)).status).toBe(405);
  expect((await fetch(`${url}/push/other`, { method: 'POST' })).status).toBe(404);
});

it('where items cannot be kept the sender is told to send again', async () => {
  const source = open();
  const url = await serve(source);
  folder.remove();
  mkdirSync(folder.path);
  writeFileSync(folder.at('push-docs'), 'a file where the folder should be');
  const body = { items: [{ key: 'a', text: 'x' }] };
  expect(await send(url, body)).toMatchObject({ status: 503, message: expect.stringContaining('send them again') });
  folder.remove();
  expect((await send(url, body)).status).toBe(202);
});

it('a write that a crash cut short is no item', async () => {
  const source = open();
  await send(await serve(source), { items: [{ key: 'a', text: 'x' }] });
  writeFileSync(folder.at('push-docs/1234.new'), '{"key":"half');
  expect(await keysOf(source)).toEqual(['a']);
  expect(readdirSync(folder.at('push-docs')).length).toBe(2);
});

it('messages that arrive together are kept in the order of their arrival', async () => {
  const source = open();
  const sends = Array.from({ length: 20 }, (_, at) => {
    const body = Buffer.from(JSON.stringify({ items: [{ key: 'a', text: `version ${at}` }] }));
    const seconds = Math.floor(clock.nowMs() / 1_000);
    return source.accept({ time: String(seconds), signature: signatureOf(SECRET, seconds, body), body });
  });
  await Promise.all(sends);
  expect(await textOf(source, 'a')).toBe('version 19');
});

it('what was pushed to a source that is dropped goes; that of others stays', async () => {
  const [docs, tickets] = [open(), open({}, 'tickets')];
  for (const source of [docs, tickets]) await send(await serve(source), { items: [{ key: 'a', text: 'x' }] });
  await forgetPushedIn(folder.path, ['docs']);
  expect([await keysOf(docs), await keysOf(tickets)]).toEqual([[], ['a']]);
  await forgetPushedIn(folder.path, ['docs', 'tickets']);
  expect(readdirSync(folder.path)).toEqual([]);
});

it('a push source without a place that lasts is refused when it is opened', () => {
  expect(() => openSource({ push: { secretFrom: { env: 'KEY' } } }, sourceOptions(folder))).toThrow(
    'has no place that keeps what is sent to it',
  );
});
