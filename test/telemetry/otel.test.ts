// Spans over OTLP as collectors take them: protobuf over HTTP, gRPC, and from `fairlead dev` too. O1 (operator/telemetry/traces/otel.ts).
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createGrpc } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SILENT } from '../../operator/log.ts';
import { type ExportedSpan, openOtel, wantsExport } from '../../operator/telemetry/index.ts';
import { command } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { openReceiver, shapeOf } from './receiver.ts';

const SPAN: ExportedSpan = {
  traceId: '0123456789abcdef0123456789abcdef',
  spanId: '0123456789abcdef',
  kind: 'update',
  name: 'update cycle',
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_250,
  attributes: { 'fairlead.source.name': 'docs', 'fairlead.wait.counts': ['a', 'b'] },
  links: [{ traceId: 'f'.repeat(32), spanId: 'e'.repeat(16), trigger: 'push', atMs: 5 }],
};

/** What arrives while a span is sent with this protocol. */
async function sent(protocol: string, server: Server, arrived: () => Buffer): Promise<Buffer> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env.OTEL_EXPORTER_OTLP_PROTOCOL = protocol;
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sink = await openOtel('fairlead-test', process.env, SILENT);
  expect(sink.isSampled(SPAN.traceId, {})).toBe(true);
  sink.put(SPAN);
  await sink.close();
  server.close();
  return arrived();
}

const ids = [Buffer.from(SPAN.traceId, 'hex'), Buffer.from(SPAN.spanId, 'hex'), Buffer.from('update cycle')];

test('as protobuf over HTTP, with the ids that were given', async () => {
  const parts: Buffer[] = [];
  let type: string | undefined;
  const server = createServer((request, answer) => {
    type = request.headers['content-type'];
    request.on('data', (part: Buffer) => parts.push(part)).on('end', () => answer.end());
  });
  const body = await sent('http/protobuf', server, () => Buffer.concat(parts));
  expect(type).toBe('application/x-protobuf');
  for (const id of ids) expect(body.includes(id)).toBe(true);
});

test('over gRPC', async () => {
  const parts: Buffer[] = [];
  let path: unknown;
  const server = createGrpc();
  server.on('stream', (stream, headers) => {
    path = headers[':path'];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 0]));
    });
  });
  const body = await sent('grpc', server, () => Buffer.concat(parts));
  expect(path).toBe('/opentelemetry.proto.collector.trace.v1.TraceService/Export');
  for (const id of ids) expect(body.includes(id)).toBe(true);
});

test('O1: only where somebody asks for it', () => {
  expect(wantsExport({})).toBe(false);
  expect(wantsExport({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })).toBe(true);
  expect(wantsExport({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' })).toBe(true);
  expect(wantsExport({ OTEL_TRACES_EXPORTER: 'console' })).toBe(true);
  expect(wantsExport({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })).toBe(false);
  expect(wantsExport({ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })).toBe(false);
});

test('fairlead dev sends the same traces', async () => {
  const folder = temporaryFolder();
  const receiver = await openReceiver();
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'a.txt'), 'a file with some words');
  writeFileSync(
    join(folder, 'fairlead.yaml'),
    `
apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: docs}
spec:
  state: {sqlite: {}}
  runners: [{name: cpu}]
  component: {steps: [{read: {}}, {embed: {hash: {dimensions: 64}}}, {export: {target: rows}}]}
  targets: [{name: rows, sqlite: {table: rows, vector: {dimensions: 64}}}]
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: files}
spec: {pipelineRef: {name: docs}, source: {directory: {path: src}}, interval: 1h}
`,
  );
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const { code, stderr } = await command(['dev', '--once', '-f', 'fairlead.yaml'], { cwd: folder, env });
  expect(code, stderr).toBe(0);
  const root = await receiver.receives(({ name }) => name === 'update cycle');
  const withoutWaits = receiver.spans.filter(({ name }) => name !== 'wait');
  expect(shapeOf(withoutWaits, root.traceId)).toEqual([
    ['update cycle', ['run cycle', ['list'], ['run item', ['commit'], ['read'], ['step embed'], ['step read']]]],
  ]);
  await receiver.close();
}, 120_000);
