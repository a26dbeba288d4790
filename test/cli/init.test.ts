// `fairlead init`: the file that it writes is valid and indexes the folder that was named, whatever the two are called.
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadObjects } from '../../cli/objects/index.ts';
import { command } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary.ts';

const place = () => {
  const cwd = temporaryFolder();
  return {
    cwd,
    init: (...args: string[]) => command(['init', ...args], { cwd }),
    objects: (file: string) => loadObjects([file], { cwd, stdin: async () => '' }),
  };
};

test('a folder that is called like a number, a boolean or with signs of the shell gives a valid Pipeline', async () => {
  const { cwd, init, objects } = place();
  for (const folder of ['2026', 'no', "it's 5 o'clock"]) {
    mkdirSync(join(cwd, folder));
    expect((await init(folder)).code).toBe(0);
    expect((await objects(`${folder}/fairlead.yaml`)).problems).toEqual([]);
  }
});

test('the command that it advises is one that a shell takes', async () => {
  const { cwd, init } = place();
  mkdirSync(join(cwd, 'my notes'));
  expect((await init('my notes')).stderr).toContain("fairlead dev -f 'my notes/fairlead.yaml'\n");
});

test('a file outside the folder indexes the folder that was named, not its own', async () => {
  const { cwd, init, objects } = place();
  mkdirSync(join(cwd, 'notes'));
  await init('-f', '../index.yaml', 'notes');
  const { objects: found, problems } = await objects('index.yaml');
  expect(problems).toEqual([]);
  expect(found.sources[0]?.value.spec.source.directory).toMatchObject({ path: 'notes' });
  expect(await readFile(join(cwd, 'index.yaml'), 'utf8')).not.toContain('"index.yaml"');
});

test('a file that cannot be written is named with the reason, without a stack', async () => {
  const { code, stderr } = await place().init('-f', 'nowhere/index.yaml', '.');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `${join('nowhere', 'index.yaml')} cannot be opened: there is no such file or folder\n`,
  });
});
