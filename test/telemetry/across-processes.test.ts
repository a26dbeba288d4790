// One trace per update, with real processes: an operator and a runner of their own, spans over OTLP to a receiver here, and an operator that is
// killed in the middle of an update. X1, X2 (runner/protocol/trace-context.ts), U1 to U3 (operator/telemetry/traces/update-trace.ts).
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type RunningCommand, startCommand } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { openReceiver, type ReceivedSpan, shapeOf } from './receiver.ts';

const HOST = '127.0.0.1';
const running: RunningCommand[] = [];

afterAll(async () => {
  for (const { process } of running) process.kill('SIGKILL');
  await Promise.all(running.map(({ done }) => done));
});

function start(args: readonly string[], cwd: string, env: Record<string, string> = {}): RunningCommand {
  const command = startCommand(args, { cwd, env });
  running.push(command);
  return command;
}

async function freePort(): Promise<number> {
  const server = createTcp().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A model server: it holds the answer for texts with "slow" until `release`, and refuses those with "bad". */
async function openModel() {
  const headers: (string | undefined)[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const answer = async (texts: readonly string[], response: ServerResponse) => {
    if (texts.some((text) => text.includes('bad')))
      return response.writeHead(400, { 'content-type': 'application/json' }).end('{"error": {"message": "no"}}');
    if (texts.some((text) => text.includes('slow'))) {
      asked();
      await released;
    }
    const data = texts.map((_, index) => ({ index, embedding: [1, 0, 0, 0] }));
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
  };
  const server = createServer((request: IncomingMessage, response) => {
    headers.push(request.headers.traceparent as string | undefined);
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => void answer((JSON.parse(body) as { input: string[] }).input, response));
  }).listen(0, HOST);
  await once(server, 'listening');
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}/v1`;
  return { url, headers, isAsked, release: () => release(), close: () => void server.close() };
}

function objects(model: string): string {
  return `
apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: docs, namespace: default}
spec:
  state: {sqlite: {}}
  maxInflightComponents: 4
  runners: [{name: cpu, slots: 8, gpus: 1}]
  component:
    steps:
      - read: {}
      - exec: {command: [node, program.mjs]}
        gpu: 500m
        batch: {maxSize: 4}
        retry: {attempts: 1}
      - embed: {openai: {url: "${model}", model: m}}
        batch: {maxSize: 1}
        retry: {attempts: 1}
      - export: {target: rows}
  targets: [{name: rows, sqlite: {table: rows, vector: {dimensions: 4}}}]
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: files, namespace: default}
spec:
  pipelineRef: {name: docs}
  source: {directory: {path: src}}
  interval: 1h
`;
}

/** A program that gives back what it gets. */
const PROGRAM = `
process.stdin.on('data', (lines) => {
  for (const line of String(lines).trim().split('\\n')) {
    const { id, calls } = JSON.parse(line);
    process.stdout.write(JSON.stringify({ id, results: calls.map(({ elements }) => ({ elements })) }) + '\\n');
  }
});
`;

const nameOf = ({ name, attributes, error }: ReceivedSpan): string => {
  const key = name === 'run item' ? ` ${attributes['fairlead.item.key']}` : '';
  return `${name}${key}${error === undefined ? '' : ' (failed)'}`;
};

/** Calls of several runs may share one batch, and the run that opened it holds the card. */
const EXEC = ['step exec', ['call']];

test('F107: an update is one whole tree of spans, across an operator, a runner, and an operator that was killed in the middle', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'src'));
  for (const text of ['good', 'bad', 'slow']) writeFileSync(join(folder, 'src', `${text}.txt`), `a ${text} file`);
  const [receiver, model, port] = await Promise.all([openReceiver(), openModel(), freePort()]);
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  writeFileSync(join(folder, 'fairlead.yaml'), objects(model.url));
  const otel = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  const operatorArgs = ['operator', '--standalone', '-f', 'fairlead.yaml', '--port', `${port}`, '--api', 'off'];
  const first = start(operatorArgs, folder, otel);
  await first.sees(/listens on/);
  const keys = join(folder, '.fairlead', 'operator');
  const link = ['--operator', `https://${HOST}:${port}`, '--ca', join(keys, 'tls.crt'), '--token', join(keys, 'token')];
  const runner = start(
    ['runner', ...link, '--pipeline', 'default/docs', '--class', 'cpu', '--slots', '8', '--gpus', '1'],
    folder,
  );
  runner.done.catch(() => {});

  await model.isAsked;
  await receiver.receives((span) => nameOf(span).startsWith('run item good'));
  await receiver.receives((span) => nameOf(span).startsWith('run item bad'));
  first.process.kill('SIGKILL');
  await first.done;
  const second = start(operatorArgs, folder, otel);
  await second.sees(/joined/);
  model.release();

  const root = await receiver.receives(({ name }) => name === 'update cycle');
  // How long items waited for a slot, and which calls shared a batch, depends on the machine; that the root waited for the runner does not.
  const withoutWaits = receiver.spans.filter(({ name }) => name !== 'wait' && !name.startsWith('card '));
  expect(shapeOf(withoutWaits, root.traceId, nameOf)).toEqual([
    [
      'update cycle',
      [
        'run cycle',
        ['list'],
        ['run item bad.txt (failed)', ['read'], ['step embed (failed)', ['call (failed)']], EXEC, ['step read']],
        ['run item good.txt', ['commit'], ['read'], ['step embed', ['call']], EXEC, ['step read']],
        ['run item slow.txt', ['commit'], ['read'], ['step embed', ['call']], EXEC, ['step read']],
      ],
    ],
  ]);
  const called = receiver.spans.filter(({ name, traceId }) => name === 'step exec' && traceId === root.traceId);
  const stepIds = new Set(called.map(({ spanId }) => spanId));
  for (const name of ['card wait', 'card hold']) {
    const held = receiver.spans.filter((span) => span.name === name && span.traceId === root.traceId);
    expect(held.length, `${name}: for each batch of calls`).toBeGreaterThan(0);
    for (const { parentSpanId, attributes } of held) {
      expect(stepIds, `${name} stands below its step`).toContain(parentSpanId);
      expect(attributes['fairlead.card.milli']).toBe(500);
    }
  }
  const calls = receiver.spans.filter(({ name, parentSpanId }) => name === 'call' && stepIds.has(parentSpanId ?? ''));
  expect(calls.map(({ attributes }) => attributes['process.executable.name'])).toEqual(['node', 'node', 'node']);
  const rootWait = receiver.spans.find(({ name, parentSpanId }) => name === 'wait' && parentSpanId === root.spanId);
  expect(rootWait?.attributes['fairlead.queue.wait']).toBeGreaterThan(0);
  expect(root.attributes).toMatchObject({
    'k8s.namespace.name': 'default',
    'fairlead.pipeline.name': 'docs',
    'fairlead.source.name': 'files',
    'fairlead.update.kind': 'cycle',
    'fairlead.update.result': 'CompletedWithErrors',
    'fairlead.update.taken_over': true,
    'fairlead.items.added': 2,
    'fairlead.items.failed': 1,
    'fairlead.runs.left_out': 0,
  });
  const own = receiver.spans.filter(({ traceId }) => traceId === root.traceId);
  for (const { startMs, endMs, name } of own) {
    expect(startMs, `${name} begins within its update`).toBeGreaterThanOrEqual(root.startMs);
    expect(endMs, `${name} ends after it began`).toBeGreaterThanOrEqual(startMs);
  }
  const steps = new Set(own.filter(({ name }) => name === 'step embed').map(({ spanId }) => spanId));
  // The second operator also begins a cycle of its own, which tries the bad file again: those requests carry that one's trace.
  const carried = model.headers.map((header) => header?.split('-') ?? []).filter(([, id]) => id === root.traceId);
  expect(carried.length, 'requests of steps carry the trace').toBeGreaterThanOrEqual(3);
  for (const [, , spanId] of carried) expect(steps, 'and the span of their step').toContain(spanId);
  model.close();
  await receiver.close();
}, 180_000);
