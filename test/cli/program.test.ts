// The command line as a whole: help, what it loads, and how it fails.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../cli/commands/index.ts';
import { createProgram } from '../../cli/program.ts';
import { cliReference } from '../../cli/reference.ts';
import { command } from '../support/command.ts';

/** Prints the file of every module that is loaded to standard error. */
const TELL_LOADS = `data:text/javascript,${encodeURIComponent(
  `import { registerHooks } from 'node:module';
   registerHooks({ load(url, context, next) { process.stderr.write('loads ' + url + '\\n'); return next(url, context); } });`,
)}`;

function loadedBy(...args: string[]): string[] {
  const run = execFileSync('sh', [
    '-c',
    '"$0" "$@" 2>&1',
    process.execPath,
    '--import',
    TELL_LOADS,
    'cli/main.ts',
    ...args,
  ]);
  return [...run.toString().matchAll(/^loads file:\/\/(.*)$/gm)].map((match) => match[1]!);
}

test('--help names every command and exits with 0', async () => {
  const { code, stdout } = await command(['--help']);
  expect(code).toBe(0);
  for (const { name, summary } of COMMANDS)
    expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b.*${summary.slice(0, 20)}`, 'm'));
});

test('--help loads no command, no schema and no engine', () => {
  const loaded = loadedBy('--help').map((file) => file.slice(file.indexOf('/cli/')));
  expect(loaded.filter((file) => file.startsWith('/cli/commands/'))).toEqual(['/cli/commands/index.ts']);
  expect(loaded.filter((file) => /\/(crds|runner|operator|node_modules\/zod)\//.test(file))).toEqual([]);
});

test('--version prints the version of the package', async () => {
  const { stdout } = await command(['--version']);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('an unknown command exits with 64 and suggests the nearest', async () => {
  const { code, stdout, stderr } = await command(['simulat']);
  expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  expect(stderr).toContain('Did you mean simulate?');
});

test('an unknown option exits with 64', async () => {
  expect((await command(['simulate', '--speed', '9'])).code).toBe(64);
});

test('the reference page has every command and every exit code', async () => {
  const page = await cliReference();
  for (const { name } of COMMANDS) expect(page).toContain(`## fairlead ${name}\n`);
  for (const code of [0, 1, 2, 3, 64, 130]) expect(page).toContain(`| ${code} |`);
});

/** They print no data: they serve, execute, or write a file or a script. */
const WITHOUT_DATA = ['operator', 'runner', 'embed-server', 'init', 'completion'];

const { commands } = await createProgram(() => true);
test.each(commands.map((one) => one.name()).filter((name) => !WITHOUT_DATA.includes(name)))(
  'what %s prints is there as JSON, as YAML and with more of the text',
  (name) => {
    const options = commands.find((one) => one.name() === name)!.options;
    expect(options.find(({ short }) => short === '-o')?.argChoices).toEqual(['json', 'yaml', 'wide']);
  },
);
