// Commands that ask an operator, as real processes against a real standalone operator without runners: what was asked for waits.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../cli/commands/index.ts';
import { announce, announcedFor } from '../../cli/remote/place.ts';
import { age, columns, duration } from '../../cli/remote/text.ts';
import type { Overview, Why } from '../../operator/api/index.ts';
import { command, startCommand } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary.ts';

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const OBJECTS = `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: { name: index }
spec:
  state: { sqlite: {} }
  component: { steps: [{ read: {} }, { export: { target: rows } }] }
  targets: [{ name: rows, jsonl: { path: rows.jsonl } }]
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: { name: notes }
spec: { pipelineRef: { name: index }, source: { directory: { path: notes } }, interval: 60s }
`;

test('F103: status, top, why, updates, suspend and resume find the operator that serves in this folder', async () => {
  const cwd = temporaryFolder();
  write(cwd, { 'fairlead.yaml': OBJECTS, 'notes/one.md': 'one\n' });
  const operator = startCommand(['operator', '--standalone', '--port', '0', '-f', 'fairlead.yaml'], { cwd });
  await operator.sees(/API and dashboard on http:\/\/127\.0\.0\.1:\d+/);
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(args, { cwd });
    return { code, stdout, stderr };
  };

  const place = join(cwd, '.fairlead', 'operator', 'api.json');
  expect(statSync(place).mode & 0o077).toBe(0); // the token is for this user alone

  const status = await ask('status');
  expect(status.stdout).toMatch(/^PIPELINE +SOURCE +STATE/);
  expect(status.stdout).toMatch(/default\/index +notes +Working +- +0\/0/);

  const top = JSON.parse((await ask('top', '-o', 'json')).stdout) as Overview;
  expect(top.pipelines[0]).toMatchObject({ name: 'default/index', tree: { pool: { waiting: 1 } }, runners: [] });

  const { whys } = JSON.parse((await ask('why', 'notes', '-o', 'json')).stdout) as { whys: Why[] };
  expect(whys[0]!.runs[0]!.says).toEqual([
    'it waits for a runner: none is connected yet',
    expect.stringContaining('`fairlead runner`'),
  ]);
  expect(await ask('why', 'nobody')).toMatchObject({ code: 1, stderr: expect.stringContaining('called nobody') });

  expect((await ask('updates')).stdout).toMatch(/UPDATE[\s\S]*notes[\s\S]*Running/);
  expect((await ask('suspend', 'notes')).stdout).toContain('LiveSource notes is suspended');
  expect((await ask('status')).stdout).toMatch(/Suspended/);
  expect((await ask('resume')).stdout).toContain('Pipeline default/index goes on');

  const secret = (JSON.parse(readFileSync(place, 'utf8')) as { token: string }).token;
  for (const { stdout, stderr } of [status, await ask('top')]) expect(stdout + stderr).not.toContain(secret);

  operator.process.kill('SIGTERM');
  await operator.done;
  expect(existsSync(place)).toBe(false);
  expect(await ask('status', '--context', 'nowhere')).toMatchObject({ code: 1 });
});

test('fairlead dev --watch is asked in the same words, and keeps the spans of its updates', async () => {
  const cwd = temporaryFolder();
  write(cwd, { 'fairlead.yaml': OBJECTS, 'notes/one.md': 'one\n' });
  const dev = startCommand(['dev', '-f', 'fairlead.yaml', '--watch'], { cwd });
  await dev.sees(/dashboard on http:\/\/127\.0\.0\.1:\d+/);
  await dev.sees(/notes: Succeeded/);
  const { stdout } = await command(['updates', '-o', 'json'], { cwd });
  const [update] = (JSON.parse(stdout) as { updates: { name: string; result: string }[] }).updates;
  expect(update).toMatchObject({ result: 'Succeeded', counts: { added: 1 } });
  const trace = await command(['trace', update!.name], { cwd });
  expect(trace.stdout).toMatch(/run item notes\/one\.md|run item one\.md/);
  dev.process.kill('SIGTERM');
  await dev.done;
});

describe('where the API is', () => {
  test('a file that a dead process left is not believed', () => {
    const folder = temporaryFolder();
    write(folder, { 'api.json': JSON.stringify({ url: 'http://127.0.0.1:1', pid: 2 ** 22 + 1 }) });
    expect(announcedFor(folder)).toBeUndefined();
    const announced = announce(folder, { url: 'http://127.0.0.1:2', token: 'secret' });
    expect(announcedFor(folder)).toMatchObject({ url: 'http://127.0.0.1:2', token: 'secret' });
    announced.withdraw();
    expect(announcedFor(folder)).toBeUndefined();
  });
});

describe('text', () => {
  test.each([
    [450, '450ms'],
    [1_000, '1s'],
    [192_000, '3m12s'],
    [7_200_000, '2h'],
    [90_061_000, '1d1h'],
  ])('%i ms read as %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  test('a moment that never was has no age, and columns are as wide as their widest cell', () => {
    expect(age(undefined, 5)).toBe('-');
    expect(columns(['A', 'B'], [['long', '1']])).toBe('A      B\nlong   1\n');
  });
});

test('a standalone operator starts no second runner on a state in a file', async () => {
  const cwd = temporaryFolder();
  write(cwd, { 'fairlead.yaml': OBJECTS });
  const { code, stderr } = await command(['operator', '--standalone', '--start-runners', '2'], { cwd });
  expect({ code, stderr }).toMatchObject({ code: 64, stderr: expect.stringContaining('for a single runner') });
});

describe('completion', () => {
  /** What bash offers for the last of these words. */
  async function offered(...words: string[]): Promise<string[]> {
    const { stdout: script } = await command(['completion', 'bash']);
    const typed = `COMP_WORDS=(fairlead ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
    const asked = `${script}\n${typed}; _fairlead; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', asked], { encoding: 'utf8' }).trim().split('\n');
  }

  test.each<[string, string[], string[]]>([
    ['commands', ['up'], ['updates']],
    ['flags of a command', ['top', '--s'], ['--server', '--sort']],
    ['values of a flag', ['status', '-o', ''], ['json', 'yaml', 'wide']],
    ['values of an argument', ['completion', ''], ['bash', 'zsh', 'fish']],
  ])('bash is offered %s', async (_, words, wanted) => {
    expect((await offered(...words)).toSorted()).toEqual(wanted.toSorted());
  });

  test.each(['zsh', 'fish'])('a script for %s names every command', async (shell) => {
    const { stdout } = await command(['completion', shell]);
    for (const { name } of COMMANDS) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`));
  });
});
