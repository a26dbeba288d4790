// The source `s3`, its real client against a small server that checks signatures.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Source } from '../../runner/execute/index.ts';
import { openSource, type S3Spec } from '../../runner/sources/index.ts';
import { ACCESS_KEY, Bucket, SECRET_KEY } from './bucket.ts';
import { keysOf, listAll, live, rejection, sourceContract, textOf } from './contract.ts';
import { sourceOptions, TempFolder } from './folder.ts';

const folder = new TempFolder();
const secrets: Record<string, string> = { KEY: ACCESS_KEY, SECRET: SECRET_KEY, WRONG: 'another secret' };
let bucket: Bucket;
const opened: Source[] = [];
const open = (spec: Partial<S3Spec> = {}): Source => {
  const keys = { accessKeyIdFrom: { env: 'KEY' }, secretAccessKeyFrom: { env: 'SECRET' } };
  const all = { bucket: 'docs', endpoint: bucket.endpoint, pathStyle: true, ...keys, ...spec };
  const source = openSource(
    { s3: all },
    sourceOptions(folder, { secret: async ({ env }) => `${secrets[env ?? '']}\n` }),
  );
  opened.push(source);
  return source;
};

beforeEach(async () => {
  bucket = await Bucket.start();
});
afterEach(async () => {
  for (const source of opened.splice(0)) await source.close();
  await bucket.close();
  folder.remove();
});

sourceContract('s3', async () => {
  const texts = {
    'a.md': 'text a',
    'deep/er/b.md': 'text b',
    'with space+plus&.md': 'signs',
    'grün/日本.md': 'tëxt',
    "it's (1)!*.md": 'more signs',
    '%41.md': 'no escape',
  };
  for (const [key, text] of Object.entries({ ...texts, 'folder/': '', 'x.lock': 'no', 'out/x': 'no' }))
    bucket.objects.set(key, text);
  return {
    source: open({ exclude: ['**/*.lock', 'out'] }),
    items: new Map(Object.entries(texts)),
    strangers: ['folder/', 'x.lock', 'out/x', 'A.md'],
    close: async () => {},
  };
});

it('2,500 objects come page by page; a prefix narrows them', async () => {
  for (let at = 0; at < 2_500; at++) bucket.objects.set(`p/${at}`, 'x');
  bucket.objects.set('q/1', 'x');
  expect((await listAll(open({ prefix: 'p/' }))).length).toBe(2_500);
  expect(bucket.requests.length).toBe(3);
  expect(await keysOf(open({ prefix: 'q' }))).toEqual(['q/1']);
  expect(await textOf(open({ prefix: 'q' }), 'p/1')).toBeUndefined();
});

it('a listing that fails on its second page, or is cut without a word, is no whole one (F1)', async () => {
  for (let at = 0; at < 1_500; at++) bucket.objects.set(`${at}`, 'x');
  bucket.intercept = (request, response) => {
    if (request.url?.includes('continuation-token') !== true) return false;
    bucket.fail(response, 503, 'InternalError');
    return true;
  };
  expect(await rejection(listAll(open()))).toMatchObject({ class: 'transient' });
  bucket.intercept = (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/xml' })
      .end('<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>');
    return true;
  };
  await expect(listAll(open())).rejects.toThrow('the listing was cut off');
});

it('a wrong secret, a missing bucket and a server that slows us down are told apart', async () => {
  bucket.objects.set('a', 'x');
  const wrong = await rejection(listAll(open({ secretAccessKeyFrom: { env: 'WRONG' } })));
  expect(wrong).toMatchObject({ class: 'invalid', message: expect.stringContaining('SignatureDoesNotMatch') });
  expect(String(wrong)).not.toContain('another secret');
  await expect(listAll(open({ bucket: 'nowhere' }))).rejects.toMatchObject({
    class: 'invalid',
    message: expect.stringContaining('NoSuchBucket'),
  });
  bucket.intercept = (_request, response) => {
    bucket.fail(response, 503, 'SlowDown');
    return true;
  };
  await expect(textOf(open(), 'a')).rejects.toMatchObject({ class: 'rate-limited' });
});

it('an object that is longer than the bound is refused without being read', async () => {
  bucket.objects.set('big', 'x'.repeat(5_000_000));
  await expect(open().read('big', '', { signal: live(), maxBytes: 1_000 })).rejects.toMatchObject({
    class: 'too-large',
  });
});

it('an object that breaks off is tried again later, never taken as it came', async () => {
  bucket.intercept = (_request, response) => {
    response.writeHead(200, { etag: '"x"', 'content-length': 100 }).write('half');
    setImmediate(() => response.destroy());
    return true;
  };
  expect(await rejection(textOf(open(), 'a'))).toMatchObject({ class: 'transient' });
});

it('a source without events has no watch', () => {
  expect(open().watch).toBeUndefined();
});
