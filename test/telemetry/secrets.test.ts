// No secret leaves: secrets are planted in every step, source, state and target that takes one, everything that uses them fails, far sides even
// repeat them, user code prints them, and then all that comes out is searched: logs, status, failures, events, metrics, traces here and over OTLP,
// the decision log, the page's data, the records in the state, and what commands say.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UpdateRecord } from '../../operator/host/index.ts';
import { updateNote } from '../../operator/reconcile/index.ts';
import { SIGNATURE_HEADER, signatureOf, TIME_HEADER } from '../../runner/sources/index.ts';
import { command, type RunningCommand, startCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { databasesBelow, type FarSide, openFarSide, type Planted, plant, secretOf, shownIn } from './planted.ts';
import { openReceiver } from './receiver.ts';

const running: RunningCommand[] = [];
afterAll(async () => {
  for (const { process } of running) process.kill('SIGTERM');
  await Promise.all(running.map(({ done }) => done));
});

const WORKING = ['files', 'git', 'ssh', 'site', 'bucket', 'tickets'];

/** What one life of an operator with its runners let out, by where it was found. */
async function lifeOf(folder: string, { docs, env }: Planted): Promise<Record<string, string>> {
  const receiver = await openReceiver();
  const args = [
    'operator',
    '--standalone',
    '-f',
    docs,
    '--port',
    '0',
    '--start-runners',
    '1',
    '--decision-log',
    'decisions',
  ];
  const operator = startCommand(args, {
    cwd: folder,
    env: {
      ...env,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      FAIRLEAD_LOG_LEVEL: 'debug',
    },
  });
  running.push(operator);
  await operator.sees(/API and dashboard/);
  const { url } = JSON.parse(readFileSync(join(folder, '.fairlead', 'operator', 'api.json'), 'utf8')) as {
    url: string;
  };
  const text = async (path: string): Promise<string> => await (await fetch(`${url}${path}`)).text();
  const pipeline = '/api/v1/pipelines/default/docs';
  const updates = async () => (JSON.parse(await text(`${pipeline}/updates`)) as { updates: UpdateRecord[] }).updates;
  const ended = await eventually(
    updates,
    (all) => WORKING.every((source) => all.some((update) => update.source === source && update.result !== 'Running')),
    'every source has ended an update',
    150_000,
  );
  const traces = await Promise.all(ended.map(({ name }) => text(`${pipeline}/updates/${name}`)));
  const whys = await Promise.all(ended.map(({ name }) => text(`${pipeline}/why?subject=${name}`)));
  const [overview, metrics, failures] = await Promise.all(
    ['/api/v1/overview', '/metrics', `${pipeline}/failures`].map(text),
  );
  const commands = [
    ['status', '-o', 'yaml'],
    ['updates', '-o', 'yaml'],
    ['quarantine', '-f', docs],
    ['trace', ended[0]!.name],
  ];
  const said = await Promise.all(commands.map((each) => command(each, { cwd: folder, env })));
  operator.process.kill('SIGTERM');
  const { stdout, stderr } = await operator.done;
  await receiver.close();
  return {
    'the log of operator and runners': stdout + stderr,
    'status, as the dashboard draws it': overview!,
    failures: failures!,
    metrics: metrics!,
    'updates with their traces': traces.join('\n'),
    'why something waits': whys.join('\n'),
    'events of updates': JSON.stringify(ended.map((record) => updateNote({ record, wasFailing: true, isSeen: true }))),
    'traces over OTLP': JSON.stringify(receiver.spans),
    'the decision log': readFileSync(join(folder, 'decisions', 'default.docs.jsonl'), 'utf8'),
    'state and rows': databasesBelow(join(folder, '.fairlead')).join('\n'),
    'what commands say of it': said.map((result) => result.stdout + result.stderr).join('\n'),
  };
}

describe('planted secrets', () => {
  const folder = temporaryFolder();
  let farSide: FarSide;
  let planted: Planted;
  let found: Record<string, string>;

  beforeAll(async () => {
    farSide = await openFarSide();
    planted = plant(folder, farSide.host);
    found = await lifeOf(folder, planted);
  }, 240_000);
  afterAll(() => farSide?.close());

  test('were used: the far side was shown them, and user code found them', () => {
    const shown = shownIn(farSide.seen.join('\n'));
    expect(shown).toEqual(
      expect.arrayContaining((['embed', 'extract', 'header', 'git', 'http', 's3id'] as const).map(secretOf)),
    );
    const log = found['the log of operator and runners'];
    expect(log, 'user code printed, and what it printed was hidden').toMatch(
      /environment .*PLANTED_TOKEN[\\"]+:[\\"]+\*\*\*/,
    );
    const events = JSON.parse(found['events of updates']!) as { note: string }[];
    expect(events.find(({ note }) => note.includes('Update ssh-'))?.note, 'ssh said its key').toContain('***');
    for (const step of ['module', 'exec', 'extract', 'embed']) expect(found.failures).toContain(`"step":"${step}"`);
    expect(found['traces over OTLP']).toContain('update cycle');
  });

  for (const where of [
    'the log of operator and runners',
    'status, as the dashboard draws it',
    'failures',
    'metrics',
    'updates with their traces',
    'why something waits',
    'events of updates',
    'traces over OTLP',
    'the decision log',
    'state and rows',
    'what commands say of it',
  ])
    test(`show nowhere in ${where}`, () => {
      expect(found[where]).not.toBe('');
      expect(shownIn(found[where]!)).toEqual([]);
    });

  for (const args of [['plan'], ['query', 'harbour'], ['verify'], ['dev', '--once'], ['quarantine']])
    test(`show nowhere in the errors of fairlead ${args[0]} on stores that refuse`, async () => {
      const [name = '', ...rest] = args;
      const { code, stdout, stderr } = await command([name, '-f', planted.stored, ...rest], {
        cwd: folder,
        env: planted.env,
      });
      expect(code, stderr).not.toBe(0);
      expect(stdout + stderr).not.toBe('');
      expect(shownIn(stdout + stderr)).toEqual([]);
    }, 60_000);

  test('show nowhere in the errors of fairlead plan on sources that refuse', async () => {
    const { stdout, stderr } = await command(['plan', '-f', planted.docs], { cwd: folder, env: planted.env });
    expect(shownIn(stdout + stderr)).toEqual([]);
  }, 60_000);

  test('show nowhere in what fairlead dev says, nor in its answers to those who push', async () => {
    const args = ['dev', '-f', planted.docs, '--watch', '--api', 'off', '--push-address', '127.0.0.1:0'];
    const dev = startCommand(args, { cwd: folder, env: planted.env });
    running.push(dev);
    const [, url] = await dev.sees(/(http:\/\/127\.0\.0\.1:\d+)\S*\/push\//);
    const body = Buffer.from('{"items":[{"key":"embed.txt","text":"pushed"}]}');
    const post = async (signatureAt: (seconds: number) => string) => {
      const seconds = Math.floor(Date.now() / 1000);
      const headers = { [TIME_HEADER]: `${seconds}`, [SIGNATURE_HEADER]: signatureAt(seconds) };
      const answer = await fetch(`${url}/push/default/hook`, { method: 'POST', headers, body });
      return { status: answer.status, said: await answer.text() };
    };
    const wrong = await post(() => `v1=${secretOf('push')}`);
    const right = await post((seconds) => signatureOf(secretOf('push'), seconds, body));
    expect([wrong.status, right.status]).toEqual([401, 202]);
    await dev.sees(/PLANTED_TOKEN/);
    dev.process.kill('SIGTERM');
    await dev.sees(/stopping/);
    dev.process.kill('SIGTERM'); // a far side that never answers is not waited for
    const { stdout, stderr } = await dev.done;
    expect(stdout + stderr, 'failures are told').toContain('***');
    expect(stdout, 'user code printed').toContain('PLANTED_TOKEN');
    expect(shownIn([wrong.said, right.said, stdout, stderr].join('\n'))).toEqual([]);
  }, 90_000);
});
