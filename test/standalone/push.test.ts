// Pushes where an operator leads and several runners work, as in a cluster: any runner takes them, and what it took is indexed at once. Real
// processes, real TLS, Postgres.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { SIGNATURE_HEADER, signatureOf, TIME_HEADER } from '../../runner/sources/index.ts';
import { type RunningCommand, startCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { testPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { freePort } from './free-port.ts';

const KEY = 'the key of the sender';
const postgres = await testPostgres('pushes to several runners on Postgres');

const OBJECTS = `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: index}
spec:
  state: {postgres: {urlFrom: {env: FAIRLEAD_TEST_DATABASE}}}
  component: {steps: [{read: {}}, {split: {by: text}}, {export: {target: rows}}]}
  targets: [{name: rows, postgres: {urlFrom: {env: FAIRLEAD_TEST_DATABASE}, table: pushed}}]
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: tickets}
spec:
  pipelineRef: {name: index}
  mode: Watch
  source: {push: {secretFrom: {env: FAIRLEAD_TEST_PUSH_KEY}}}
`;

test.skipIf(postgres === undefined)(
  'what is pushed to any of two runners is indexed; the next push to the other one changes it, and a removal removes it',
  { timeout: 300_000 },
  async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'fairlead.yaml'), OBJECTS);
    const env = {
      FAIRLEAD_TEST_DATABASE: postgres!.url,
      FAIRLEAD_TEST_PUSH_KEY: KEY,
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      XDG_STATE_HOME: join(folder, 'home'),
    };
    const start = (...args: string[]): RunningCommand => {
      const started = startCommand(args, { cwd: folder, env });
      onTestFinished(() => void started.process.kill('SIGKILL'));
      return started;
    };
    const port = await freePort();
    const operator = start(
      'operator',
      '--standalone',
      '-f',
      'fairlead.yaml',
      '--dir',
      'op',
      '--port',
      `${port}`,
      '--api',
      'off',
    );
    await operator.sees(/listens on/);
    const doors: number[] = [];
    for (const name of ['one', 'two']) {
      const link = ['--operator', `https://127.0.0.1:${port}`, '--ca', 'op/tls.crt', '--token', 'op/token'];
      const own = ['--pipeline', 'default/index', '--name', name, '--data', name, '--push-address', '127.0.0.1:0'];
      const [, door] = await start('runner', ...link, ...own).sees(/items are pushed to port (\d+)/);
      doors.push(Number(door));
    }
    await push(doors[0]!, [{ key: '17', text: 'printer on fire' }]);
    await indexed({ '17': 'printer on fire' });
    await push(doors[1]!, [
      { key: '17', text: 'printer is out' },
      { key: '3', text: 'no coffee' },
    ]);
    await indexed({ '17': 'printer is out', '3': 'no coffee' });
    await push(doors[0]!, [{ key: '3', removed: true }]);
    await indexed({ '17': 'printer is out' });
  },
);

async function push(port: number, items: readonly object[]): Promise<void> {
  const body = JSON.stringify({ items });
  const seconds = Math.floor(Date.now() / 1_000);
  const headers = { [TIME_HEADER]: `${seconds}`, [SIGNATURE_HEADER]: signatureOf(KEY, seconds, Buffer.from(body)) };
  const reply = await fetch(`http://127.0.0.1:${port}/push/default/tickets`, { method: 'POST', body, headers });
  expect(reply.status, await reply.text()).toBe(202);
}

/** The rows are those of these items. */
async function indexed(wanted: Readonly<Record<string, string>>): Promise<void> {
  const client = new pg.Client({ connectionString: postgres!.url });
  await client.connect();
  try {
    const rows = async () => {
      const found = await client
        .query<{ key: string; text: string }>('SELECT key, text FROM pushed')
        .catch(() => undefined);
      return Object.fromEntries((found?.rows ?? []).map(({ key, text }) => [key, text]));
    };
    const isWanted = (seen: object) =>
      JSON.stringify(Object.entries(seen).sort()) === JSON.stringify(Object.entries(wanted).sort());
    await eventually(rows, isWanted, `the rows ${JSON.stringify(wanted)}`);
  } finally {
    await client.end();
  }
}
