// No secret leaves: secrets are planted in every step and source that takes one, everything that uses them fails, far sides even echo them, and then
// all that the operator and its runner say is searched: logs, status, failures, metrics, traces here and over OTLP, the records in the state.
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type RunningCommand, startCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { openReceiver } from './receiver.ts';

const running: RunningCommand[] = [];
const servers: Server[] = [];

afterAll(async () => {
  for (const { process } of running) process.kill('SIGTERM');
  await Promise.all(running.map(({ done }) => done));
  for (const server of servers) server.close();
});

/** Each is found by its own name, wherever it shows. */
const SECRETS = ['embed', 'extract', 'exec', 'git', 'http', 's3id', 's3secret', 'postgres', 'push'].map(
  (name) => `planted-${name}-5ecre7`,
);
const secretOf = (name: string): string => `planted-${name}-5ecre7`;

/** Refuses everything but the extraction of what is to be embedded, and says what it was shown: headers and address. */
async function echoingServer(): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const isExtraction = request.url?.endsWith('/chat/completions') === true && body.includes('embed.txt');
      const choices = [{ message: { content: '{"purpose": "none"}' } }];
      const message = JSON.stringify({ headers: request.headers, url: request.url });
      response
        .writeHead(isExtraction ? 200 : 401, { 'content-type': 'application/json' })
        .end(JSON.stringify(isExtraction ? { choices } : { error: { message } }));
    });
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const PROGRAM = `
process.stderr.write('my token is ' + process.env.TOKEN + '\\n');
process.stdin.on('data', (line) => {
  const { id, item } = JSON.parse(line);
  const text = item.key === 'exec.txt' ? { error: 'token ' + process.env.TOKEN + ' was refused' } : { elements: [{ text: item.key }] };
  process.stdout.write(JSON.stringify({ id, ...text }) + '\\n');
});
`;

const from = (name: string): string => `{secretKeyRef: {name: ${name}, key: value}}`;

function objects(host: string): string {
  const source = (name: string, spec: string) => `
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: ${name}, namespace: default}
spec:
  pipelineRef: {name: docs}
  source: ${spec}
  interval: 1h
`;
  const secrets: Record<string, string> = Object.fromEntries(
    ['embed', 'extract', 'exec', 'git', 'http', 's3id', 's3secret', 'push'].map((name) => [name, secretOf(name)]),
  );
  secrets.postgres = `postgres://user:${secretOf('postgres')}@${host}/db`;
  const secret = Object.entries(secrets).map(
    ([name, value]) => `
---
apiVersion: v1
kind: Secret
metadata: {name: ${name}, namespace: default}
stringData: {value: "${value}"}
`,
  );
  return [
    `
apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: docs, namespace: default}
spec:
  state: {sqlite: {}}
  runners: [{name: cpu, slots: 16}]
  component:
    steps:
      - read: {}
      - exec: {command: [node, program.mjs], envFrom: [{name: TOKEN, from: ${from('exec')}}]}
        retry: {attempts: 1}
      - extract:
          openai: {url: "http://${host}/v1", model: m, keyFrom: ${from('extract')}}
          instructions: Say it.
          schema: {type: object, properties: {purpose: {type: string}}, required: [purpose]}
        retry: {attempts: 1}
      - embed: {openai: {url: "http://${host}/v1", model: m, keyFrom: ${from('embed')}}}
        retry: {attempts: 1}
      - export: {target: rows}
  targets: [{name: rows, sqlite: {table: rows, vector: {dimensions: 4}}}]
`,
    ...secret,
    source('files', '{directory: {path: src}}'),
    source('git', `{git: {url: "http://${host}/repo.git", auth: {username: git, tokenFrom: ${from('git')}}}}`),
    source('site', `{http: {list: ["http://${host}/a.txt"], tokenFrom: ${from('http')}}}`),
    source(
      'bucket',
      `{s3: {bucket: bucket, endpoint: "http://${host}", pathStyle: true, region: r, accessKeyIdFrom: ${from('s3id')}, secretAccessKeyFrom: ${from('s3secret')}}}`,
    ),
    source('tickets', `{postgres: {urlFrom: ${from('postgres')}, table: t, key: [id], content: body}}`),
    source('hook', `{push: {secretFrom: ${from('push')}}}`).replace('pipelineRef', 'mode: Watch\n  pipelineRef'),
  ].join('');
}

/** All files below a folder, as text. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [readFileSync(path, 'latin1')];
  });
}

test('planted secrets show in no log, status, failure, metric, trace or record', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'src'));
  for (const name of ['exec', 'extract', 'embed']) writeFileSync(join(folder, 'src', `${name}.txt`), name);
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  const [host, receiver] = await Promise.all([echoingServer(), openReceiver()]);
  writeFileSync(join(folder, 'fairlead.yaml'), objects(host));
  const args = ['operator', '--standalone', '-f', 'fairlead.yaml', '--port', '0', '--start-runners', '1'];
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    FAIRLEAD_LOG_LEVEL: 'debug',
  };
  const operator = startCommand(args, { cwd: folder, env });
  running.push(operator);
  await operator.sees(/API and dashboard/);
  const { url } = JSON.parse(readFileSync(join(folder, '.fairlead', 'operator', 'api.json'), 'utf8')) as {
    url: string;
  };
  const text = async (path: string): Promise<string> => await (await fetch(`${url}${path}`)).text();
  const updates = async () =>
    (
      JSON.parse(await text('/api/v1/pipelines/default/docs/updates')) as {
        updates: { source?: string; result: string; name: string }[];
      }
    ).updates;
  const ended = await eventually(
    updates,
    (all) =>
      ['files', 'git', 'site', 'bucket', 'tickets'].every((source) =>
        all.some((update) => update.source === source && update.result !== 'Running'),
      ),
    'every source has ended an update',
    150_000,
  );
  const said = [
    ...(await Promise.all(ended.map(({ name }) => text(`/api/v1/pipelines/default/docs/updates/${name}`)))),
    ...(await Promise.all(['/api/v1/overview', '/metrics', '/api/v1/pipelines/default/docs/failures'].map(text))),
  ];
  operator.process.kill('SIGTERM');
  const { stdout, stderr } = await operator.done;
  await receiver.close();
  expect(
    ended.some(({ result }) => result === 'Failed'),
    'secrets were used, and refused',
  ).toBe(true);
  for (const step of ['exec', 'extract', 'embed'])
    expect(said.join(), 'failures are told').toContain(`"step":"${step}"`);
  const everything: Record<string, string> = {
    log: stdout + stderr,
    'status, failures, metrics and traces': said.join('\n'),
    'traces over OTLP': JSON.stringify(receiver.spans),
    'state and rows': filesBelow(join(folder, '.fairlead'))
      .filter((content) => content.includes('SQLite format'))
      .join('\n'),
  };
  expect(receiver.spans.length).toBeGreaterThan(0);
  const shown = Object.entries(everything).flatMap(([where, content]) =>
    SECRETS.filter((secret) => content.includes(secret)).map((secret) => `${secret} in ${where}`),
  );
  expect(shown).toEqual([]);
}, 200_000);
