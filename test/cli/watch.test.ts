// `fairlead init` and `fairlead dev --watch`: from an empty folder to an index that follows it.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { SIGNATURE_HEADER, signatureOf, TIME_HEADER } from '../../runner/sources/index.ts';
import { manyFiles, pipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

test('init writes a Pipeline that is valid, and never over a file that is there', async () => {
  const space = new Workspace();
  expect((await space.run('init')).code).toBe(0);
  expect((await space.run('validate', '-f', 'fairlead.yaml')).code).toBe(0);
  const again = await space.run('init');
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('fairlead.yaml is there already');
});

test('after init, dev and query need no -f, and neither the index nor its own file is indexed', async () => {
  const space = new Workspace();
  space.remove('pipeline.yaml');
  space.write('readme.md', '# Tides\n\nSpring tides follow the full moon.\n');
  await space.run('init');
  expect((await space.run('dev')).stdout).toMatch(/ 1 added, .* 0 failed\n$/);
  expect((await space.run('dev')).stdout).toMatch(/ 1 unchanged, 0 added, /);
  expect((await space.run('query', 'full moon', '-k', '1')).stdout).toContain('readme.md:1-3');
});

test('F9: --watch makes an update for a file that changes, one that appears and one that goes, and stops on SIGTERM with 0', async () => {
  const space = new Workspace();
  space.write('files/a.txt', 'The anchor.\n');
  const running = space.start('dev', '-f', 'pipeline.yaml', '--watch');
  await running.sees(/^files: Succeeded/m);
  space.write('files/a.txt', 'The anchor drags.\n');
  await running.sees(/^files a\.txt: Succeeded .* 1 reprocessed/m);
  space.write('files/b.txt', 'The bilge.\n');
  await running.sees(/^files b\.txt: Succeeded .* 1 added/m);
  space.remove('files/a.txt');
  await running.sees(/^files a\.txt: Succeeded .* 1 deleted/m);
  running.process.kill('SIGTERM');
  expect((await running.done).code).toBe(0);
  expect(space.rows().map(({ text }) => text.trim())).toEqual(['The bilge.']);
});

test('a watched folder that vanishes does not empty the index: the guard holds the deletes back until there is consent', async () => {
  const space = new Workspace();
  for (const [name, text] of manyFiles(60, 1)) space.write(`files/notes/${name}`, text);
  space.write('files/kept.txt', 'The anchor.\n');
  const running = space.start('dev', '-f', 'pipeline.yaml', '--watch');
  await running.sees(/^files: Succeeded .* 61 added/m);
  renameSync(join(space.folder, 'files/notes'), join(space.folder, 'away'));
  await running.sees(/60 of 61 items are not in the source any more, more than deleteGuard allows/);
  expect(space.keys().length, '20 are let go whatever the size of the source').toBe(61 - 20);
  expect(await space.run('refresh', '--allow-deletes')).toMatchObject({ code: 0 });
  expect(space.keys()).toEqual(['kept.txt']);
  running.process.kill('SIGTERM');
  expect((await running.done).code).toBe(0);
});

test('an item that is pushed, signed, to a push source is indexed at once; a wrong signature is refused', async () => {
  const space = new Workspace();
  const pushed = pipelineText({ mode: 'mode: Watch' }).replace(
    'directory: {path: files}',
    'push: {secretFrom: {env: PUSH_KEY}}',
  );
  space.write('pipeline.yaml', pushed);
  space.environment.PUSH_KEY = 'a key of thirty-two characters, or so';
  const running = space.start('dev', '-f', 'pipeline.yaml', '--watch', '--push-address', '127.0.0.1:0');
  const [, url] = await running.sees(/items are pushed to (\S+)/);
  const send = (key: string) => {
    const body = Buffer.from(JSON.stringify({ items: [{ key: 'tides.txt', text: 'Neap tides are weak.' }] }));
    const seconds = String(Math.floor(Date.now() / 1_000));
    const headers = { [TIME_HEADER]: seconds, [SIGNATURE_HEADER]: signatureOf(key, Number(seconds), body) };
    return fetch(url!, { method: 'POST', body, headers });
  };
  expect((await send('another key')).status).toBe(401);
  expect((await send(space.environment.PUSH_KEY)).status).toBe(202);
  await running.sees(/^files tides\.txt: Succeeded .* 1 added/m);
  running.process.kill('SIGTERM');
  await running.done;
  expect(space.rows().map(({ key, text }) => [key, text])).toEqual([['tides.txt', 'Neap tides are weak.']]);
});
