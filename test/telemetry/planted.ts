// Secrets that are planted in every step, source, state and target that takes one, and a far side that refuses everything and repeats what it was shown.
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** By the place that takes it. Each is found by its own name, wherever it shows. */
const PLACES = [
  'embed',
  'extract',
  'exec',
  'variable',
  'header',
  'git',
  'ssh',
  'http',
  's3id',
  's3secret',
  'postgres',
  'push',
  'state',
  'target',
] as const;
type Place = (typeof PLACES)[number];

export const secretOf = (place: Place): string => `planted-${place}-5ecre7`;

/** Every secret that a text shows, in whatever form. */
export function shownIn(text: string): string[] {
  const base64 = [...text.matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)].map(([found]) =>
    Buffer.from(found, 'base64').toString(),
  );
  const all = [text, ...base64].join('\n');
  return PLACES.map(secretOf).filter((secret) => all.includes(secret));
}

export interface FarSide {
  readonly host: string;
  /** All that it was shown: headers and addresses. */
  readonly seen: string[];
  close(): void;
}

/** Refuses everything but the extraction of what is to be embedded, and says what it was shown. */
export async function openFarSide(): Promise<FarSide> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const isExtraction = request.url?.endsWith('/chat/completions') === true && body.includes('embed.txt');
      const choices = [{ message: { content: '{"purpose": "none"}' } }];
      const message = JSON.stringify({ headers: request.headers, url: request.url });
      seen.push(message);
      response
        .writeHead(isExtraction ? 200 : 401, {
          'content-type': 'application/json',
          // Git shows its credentials only to who asks for them.
          ...(request.url?.includes('.git') && { 'www-authenticate': 'Basic realm="far"' }),
        })
        .end(JSON.stringify(isExtraction ? { choices } : { error: { message } }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen, close: () => void server.close() };
}

/** Says what it was given: in its errors, on its standard error, and, for one item, with its last words. */
const PROGRAM = `
process.stderr.write('my token is ' + process.env.TOKEN + '\\n');
process.stdin.on('data', (line) => {
  const { id, item } = JSON.parse(line);
  if (item.key === 'crash.txt') {
    process.stderr.write(JSON.stringify(process.env));
    process.exit(3);
  }
  if (item.key === 'noise.txt') return void process.stdout.write(JSON.stringify(process.env).slice(1) + '\\n');
  const text = item.key === 'exec.txt' ? { error: 'token ' + process.env.TOKEN + ' was refused' } : { elements: [{ text: item.key }] };
  process.stdout.write(JSON.stringify({ id, ...text }) + '\\n');
});
`;

/** User code in the runner's own process: prints, logs and throws what it finds there. */
const MODULE = `
export default async function leak(elements, context) {
  if (context.item.key !== 'module.txt') return elements;
  const found = JSON.stringify(process.env);
  console.log('environment', found);
  console.error(found);
  context.log('my token is ' + process.env.PLANTED_TOKEN);
  throw new Error('not with ' + process.env.PLANTED_TOKEN);
}
`;

/** Stands for the ssh of this machine: says the key that it was given, and fails. */
const SSH = `#!/bin/sh
for argument in "$@"; do
  case "$previous" in -i) cat "$argument" >&2;; esac
  previous=$argument
done
exit 255
`;

const from = (place: Place): string => `{secretKeyRef: {name: ${place}, key: value}}`;

function pipeline(host: string): string {
  return `
apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: docs, namespace: default}
spec:
  state: {sqlite: {}}
  runners: [{name: cpu, slots: 16}]
  component:
    steps:
      - read: {}
      - module: {path: module.mjs}
        retry: {attempts: 1}
      - exec: {command: [node, program.mjs], envFrom: [{name: TOKEN, from: ${from('exec')}}]}
        retry: {attempts: 1}
      - extract:
          openai: {url: "http://${host}/v1", model: m, keyFrom: ${from('extract')}}
          instructions: Say it.
          schema: {type: object, properties: {purpose: {type: string}}, required: [purpose]}
        retry: {attempts: 1}
      - embed:
          openai: {url: "http://${host}/v1", model: m, keyFrom: ${from('embed')}, headers: {x-api-key: ${secretOf('header')}}}
        retry: {attempts: 1}
      - export: {target: rows}
  targets: [{name: rows, sqlite: {table: rows, vector: {dimensions: 4}}}]
`;
}

/** A Pipeline whose state and target are databases that answer nothing sensible. */
const STORED = `
apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: stored, namespace: default}
spec:
  state: {postgres: {urlFrom: ${from('state')}}}
  runners: [{name: cpu, slots: 4}]
  component:
    steps: [{read: {}}, {export: {target: rows}}]
  targets: [{name: rows, postgres: {urlFrom: ${from('target')}, table: rows}}]
`;

const source = (name: string, spec: string, pipeline = 'docs', mode = ''): string => `
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: ${name}, namespace: default}
spec:
  pipelineRef: {name: ${pipeline}}
  source: ${spec}
  interval: 1h
  ${mode}
`;

const secret = (name: string, value: string): string => `
---
apiVersion: v1
kind: Secret
metadata: {name: ${name}, namespace: default}
stringData: {value: ${JSON.stringify(value)}}
`;

function secrets(host: string): string {
  const database = (place: Place) => `postgres://user:${secretOf(place)}@${host}/db`;
  const values: Partial<Record<Place, string>> = {
    ssh: `-----BEGIN OPENSSH PRIVATE KEY-----\n${secretOf('ssh')}-in-a-line-of-its-own\n-----END OPENSSH PRIVATE KEY-----`,
    postgres: database('postgres'),
    state: database('state'),
    target: database('target'),
  };
  return PLACES.map((place) => secret(place, values[place] ?? secretOf(place))).join('');
}

const ITEMS = ['module', 'exec', 'crash', 'noise', 'extract', 'embed'];

export interface Planted {
  /** YAML of the Pipeline whose items and sources all fail. */
  readonly docs: string;
  /** YAML of the Pipeline whose stores fail. */
  readonly stored: string;
  /** For the process: the variable that user code finds, and the ssh that talks. */
  readonly env: Readonly<Record<string, string>>;
}

/** Writes everything into a folder. */
export function plant(folder: string, host: string): Planted {
  mkdirSync(join(folder, 'src'));
  for (const name of ITEMS) writeFileSync(join(folder, 'src', `${name}.txt`), name);
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  writeFileSync(join(folder, 'module.mjs'), MODULE);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'ssh'), SSH);
  chmodSync(join(folder, 'bin', 'ssh'), 0o755);
  const sources = [
    source('files', '{directory: {path: src}}'),
    source('git', `{git: {url: "http://${host}/repo.git", auth: {username: git, tokenFrom: ${from('git')}}}}`),
    source('ssh', `{git: {url: "ssh://git@127.0.0.1/repo.git", auth: {sshKeyFrom: ${from('ssh')}}}}`),
    source('site', `{http: {list: ["http://${host}/a.txt"], tokenFrom: ${from('http')}}}`),
    source(
      'bucket',
      `{s3: {bucket: bucket, endpoint: "http://${host}", pathStyle: true, region: r, accessKeyIdFrom: ${from('s3id')}, secretAccessKeyFrom: ${from('s3secret')}}}`,
    ),
    source('tickets', `{postgres: {urlFrom: ${from('postgres')}, table: t, key: [id], content: body}}`),
    source('hook', `{push: {secretFrom: ${from('push')}}}`, 'docs', 'mode: Watch'),
  ];
  const docs = join(folder, 'docs.yaml');
  const stored = join(folder, 'stored.yaml');
  writeFileSync(docs, [pipeline(host), ...sources, secrets(host)].join(''));
  writeFileSync(stored, [STORED, source('pages', '{directory: {path: src}}', 'stored'), secrets(host)].join(''));
  const env = { PLANTED_TOKEN: secretOf('variable'), PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
  return { docs, stored, env };
}

/** Content of all databases below a folder, as text. */
export function databasesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return databasesBelow(path);
    if (!statSync(path).isFile()) return [];
    const content = readFileSync(path, 'latin1');
    return content.includes('SQLite format') || name.endsWith('-wal') ? [content] : [];
  });
}
