// Every command that looks or acts, in each form of output, against `fairlead dev --watch` and against a standalone operator with a runner: the same
// words, the same exit codes, and errors that tell the next step. Real processes: one server for all of a table, and a process for each question.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type CommandResult, command, type RunningCommand, startCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const OBJECTS = `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: { name: index }
spec:
  state: { sqlite: {} }
  component:
    steps:
      - read: {}
      - exec: { command: [node, program.mjs] }
        retry: { attempts: 1 }
      - export: { target: rows }
  targets: [{ name: rows, sqlite: { table: rows } }]
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: { name: notes }
spec: { pipelineRef: { name: index }, source: { directory: { path: notes } }, interval: 1h }
`;

/** Refuses what is called bad. */
const PROGRAM = `
process.stdin.on('data', (lines) => {
  for (const line of String(lines).trim().split('\\n')) {
    const { id, item, elements } = JSON.parse(line);
    process.stdout.write(JSON.stringify(item.key === 'bad.md' ? { id, error: 'it is bad' } : { id, elements }) + '\\n');
  }
});
`;

const OPERATOR = 'a standalone operator';
const SERVERS: Readonly<Record<string, { readonly args: readonly string[]; readonly serves: RegExp }>> = {
  'fairlead dev --watch': { args: ['dev', '--watch'], serves: /dashboard on http/ },
  [OPERATOR]: {
    args: ['operator', '--standalone', '--port', '0', '--start-runners', '1'],
    serves: /API and dashboard on http/,
  },
};

interface Asked {
  readonly args: (update: string) => readonly string[];
  readonly code?: number;
  /** On standard output; on standard error where it fails. */
  readonly says: RegExp;
}

/** They change nothing, so they are asked beside one another. */
const LOOKS: Readonly<Record<string, Asked>> = {
  'status has a line for each source': { args: () => ['status'], says: /default\/index +notes +Ready +\S+ +1\/2 +1 / },
  'status is wide when asked': { args: () => ['status', '-o', 'wide'], says: /CHECKED +MODE +WEIGHT +NEXT/ },
  'top prints the tree once without a terminal': { args: () => ['top'], says: /slots \[ +\] 0\/1024[\s\S]*notes +0/ },
  'top sorts as told': { args: () => ['top', '--sort', 'waiting'], says: /BRANCH +HELD/ },
  'updates lists what was done': { args: () => ['updates'], says: /notes-\d+-\d+ .*CompletedWithErrors/ },
  'updates is wide with traces': { args: () => ['updates', '-o', 'wide'], says: /TRACE +MESSAGE[\s\S]* [0-9a-f]{32}/ },
  'updates shows one with its timeline': {
    args: (update) => ['updates', 'show', update],
    says: /Result +CompletedWithErrors[\s\S]*run item bad\.md.*invalid: exec: it is bad/,
  },
  'trace prints the spans': { args: (update) => ['trace', update], says: /call node +\d+m?s \|/ },
  'why tells of an update that has ended': { args: (update) => ['why', update], says: /it ended CompletedWithErrors/ },
  'doctor finds what somebody should look at': {
    args: () => ['doctor'],
    says: /ok +operator API[\s\S]*look +source default\/index notes +1 items failed/,
  },
};

/** A runner of the operator answers these, which for that moment holds a slot: so nobody else asks meanwhile. */
const QUESTIONS: Readonly<Record<string, Asked>> = {
  'quarantine lists what failed': { args: () => ['quarantine'], says: /bad\.md.*it is bad/ },
  'verify finds no difference': { args: () => ['verify'], says: /1 rows, 0 missing, 0 surplus/ },
};

/** One after the other, in this order. */
const ACTS: Readonly<Record<string, Asked>> = {
  'suspend stops a source': { args: () => ['suspend', 'notes'], says: /LiveSource notes is suspended/ },
  'a suspended source says so': { args: () => ['status'], says: /notes +Suspended/ },
  'resume lets it go on': { args: () => ['resume', 'notes'], says: /LiveSource notes goes on/ },
  'refresh makes a cycle': { args: () => ['refresh', 'notes'], says: /asked for a cycle of notes|notes: Completed/ },
  'reprocess does everything again': {
    args: () => ['reprocess', 'notes'],
    says: /asked for a cycle of notes|notes: Completed/,
  },
};

/** What is wrong, and what is said of it: the same whoever is asked, so one of them is. */
const ERRORS: Readonly<Record<string, Asked>> = {
  'an update that nobody remembers': {
    args: () => ['updates', 'show', 'nobody'],
    code: 1,
    says: /`fairlead updates` lists/,
  },
  'a trace that nobody keeps': { args: () => ['trace', 'nobody'], code: 1, says: /`fairlead updates` lists/ },
  'a subject that does not wait': { args: () => ['why', 'nobody'], code: 1, says: /`fairlead updates` lists/ },
  'a source that is not there': {
    args: () => ['suspend', 'nobody'],
    code: 1,
    says: /no Pipeline has a LiveSource nobody/,
  },
  'a Pipeline that is not there': {
    args: () => ['status', '--pipeline', 'x'],
    code: 1,
    says: /there is default\/index/,
  },
  'a command line that is not understood': { args: () => ['updates', 'a', 'b'], code: 64, says: /updates show NAME/ },
  'a form that is not known': { args: () => ['status', '-o', 'xml'], code: 64, says: /json, yaml, wide/ },
};

/** Commands whose result is the same data in every form for programs. */
const FORMS: readonly (readonly [string, string])[] = [
  ['status', 'pipelines'],
  ['top', 'pipelines'],
  ['updates', 'updates'],
  ['doctor', 'findings'],
];

/** The same, of what a runner answers. */
const ANSWERED: typeof FORMS = [
  ['verify', 'results'],
  ['quarantine', 'items'],
];

/** Those that ended CompletedWithErrors say so by their exit code; an operator is only asked. */
const isAsExpected = (code: number | null, wanted = 0, args: readonly string[] = []): boolean =>
  code === wanted || (code === 3 && ['refresh', 'reprocess'].includes(args[0] ?? ''));

interface World {
  readonly cwd: string;
  readonly server: RunningCommand;
  /** An update that ended CompletedWithErrors. */
  update: string;
}

const worlds = new Map<string, World>();

function opened(name: string): World {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'notes'));
  writeFileSync(join(cwd, 'fairlead.yaml'), OBJECTS);
  writeFileSync(join(cwd, 'program.mjs'), PROGRAM);
  for (const key of ['good', 'bad']) writeFileSync(join(cwd, 'notes', `${key}.md`), key);
  const server = startCommand([...SERVERS[name]!.args, '-f', 'fairlead.yaml'], { cwd });
  return { cwd, server, update: '' };
}

/** Until the first cycle has ended and its items were counted. */
async function settled(name: string): Promise<void> {
  const world = worlds.get(name)!;
  await world.server.sees(SERVERS[name]!.serves);
  const { stdout } = await eventually(
    () => command(['updates', '-o', 'json'], { cwd: world.cwd }),
    (seen) => seen.stdout.includes('CompletedWithErrors'),
    'the first cycle has ended',
    60_000,
  );
  const { updates } = JSON.parse(stdout) as { updates: { name: string; result: string }[] };
  world.update = updates.find(({ result }) => result === 'CompletedWithErrors')!.name;
  // Runners count what the state holds some seconds after the last commit.
  await eventually(
    () => command(['status'], { cwd: world.cwd }),
    (seen) => seen.stdout.includes(' 1/2 '),
    'the items were counted',
    60_000,
  );
}

beforeAll(async () => {
  for (const name of Object.keys(SERVERS)) worlds.set(name, opened(name));
  await Promise.all(Object.keys(SERVERS).map(settled));
}, 240_000);
afterAll(async () => {
  for (const { server } of worlds.values()) server.process.kill('SIGTERM');
  await Promise.all([...worlds.values()].map(({ server }) => server.done));
});

for (const name of Object.keys(SERVERS))
  describe(`asked of ${name}`, () => {
    const ask = (...asked: readonly string[]): Promise<CommandResult> => command(asked, { cwd: worlds.get(name)!.cwd });

    async function answers(wanted: Asked): Promise<void> {
      const asked = wanted.args(worlds.get(name)!.update);
      const { code, stdout, stderr } = await ask(...asked);
      expect(isAsExpected(code, wanted.code, asked), `exit code ${code}: ${stderr}`).toBe(true);
      expect(wanted.code === undefined ? stdout + stderr : stderr).toMatch(wanted.says);
    }

    async function isSameInForms(asked: string, member: string): Promise<void> {
      const [json, yaml] = await Promise.all([ask(asked, '-o', 'json'), ask(asked, '-o', 'yaml')]);
      const data = JSON.parse(json.stdout) as Record<string, unknown>;
      expect(Object.keys(parse(yaml.stdout) as object)).toEqual(Object.keys(data));
      expect(Array.isArray(data[member])).toBe(true);
    }

    const asksErrors = name === OPERATOR;
    for (const [says, wanted] of Object.entries({ ...LOOKS, ...(asksErrors ? ERRORS : {}) }))
      test.concurrent(says, () => answers(wanted), 240_000);

    for (const [asked, member] of asksErrors ? FORMS : [])
      test.concurrent(`${asked} holds the same data as JSON and as YAML`, () => isSameInForms(asked, member), 240_000);

    for (const [says, wanted] of Object.entries(QUESTIONS)) test(says, () => answers(wanted), 240_000);
    for (const [asked, member] of ANSWERED)
      test(`${asked} holds the same data as JSON and as YAML`, () => isSameInForms(asked, member), 240_000);

    test('verify finds a row that was lost, says so by its exit code, and --repair mends it', async () => {
      const { cwd } = worlds.get(name)!;
      const database = new DatabaseSync(join(cwd, '.fairlead', 'index.db'));
      database.exec('DELETE FROM rows_rows');
      database.close();
      const lost = await ask('verify');
      expect(lost).toMatchObject({ code: 1, stdout: expect.stringMatching(/row \w+ of notes\/good.md is missing/) });
      const mended = { code: 0, stdout: 'index: 1 rows, 0 missing, 0 surplus; 1 component was mended\n' };
      expect(await ask('verify', '--repair')).toMatchObject(mended);
      expect(await ask('verify')).toMatchObject({ code: 0 });
    }, 240_000);

    for (const [says, wanted] of Object.entries(ACTS)) test(says, () => answers(wanted), 240_000);
  });

test('kubectl-fairlead on the PATH is the same program', async () => {
  const folder = temporaryFolder();
  const program = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));
  symlinkSync(program, join(folder, 'kubectl-fairlead'));
  const { spawnSync } = await import('node:child_process');
  const PATH = [folder, join(process.execPath, '..'), process.env.PATH].join(delimiter);
  const { status, stdout } = spawnSync('kubectl-fairlead', ['--version'], {
    env: { ...process.env, PATH },
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
});

test('where nothing serves and there is no cluster, commands say how to go on', async () => {
  const cwd = temporaryFolder();
  const env = { KUBECONFIG: '', HOME: cwd, XDG_STATE_HOME: cwd };
  const asks = ['status', 'refresh', 'suspend', 'doctor', 'quarantine', 'verify'].map(async (asked) => {
    const { code, stderr } = await command([asked], { cwd, env });
    expect(code, asked).toBe(1);
    expect(stderr, asked).toMatch(/nothing serves here.*(--dir|-f)/);
  });
  await Promise.all(asks);
  const missing = await command(['status'], { cwd, env: { ...env, KUBECONFIG: join(cwd, 'none') } });
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/the kubeconfig .*none cannot be read.*set KUBECONFIG/),
  });
}, 240_000);
