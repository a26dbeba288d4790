// What happens when `fairlead dev` is stopped or started twice: nothing is lost and nothing is done twice. Real processes on a real file; the tests wait for rows to appear, never for time to pass.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { manyFiles, untilMoreThan, Workspace } from './workspace.ts';

// Many processes one after another, on whatever machine this is.
vi.setConfig({ testTimeout: 240_000 });

const FILES = manyFiles(150);

/** One run at a time, so that there is a middle to be killed in. */
const SLOW = { pipeline: 'maxInflightComponents: 1' };

function filled(options = SLOW): Workspace {
  const space = new Workspace(options);
  for (const [name, text] of FILES) space.write(`files/${name}`, text);
  return space;
}

const itemsIn = (space: Workspace): number => {
  if (!existsSync(join(space.folder, '.fairlead', 'notes.db'))) return 0;
  try {
    return space.keys().length;
  } catch {
    return 0; // The table is not made yet.
  }
};

test('Ctrl-C once finishes what runs, exits with 130, and the next run does exactly the rest', async () => {
  const space = filled();
  const running = space.start('dev', '-f', 'pipeline.yaml');
  await untilMoreThan(5, async () => itemsIn(space), running.done);
  running.process.kill('SIGINT');
  const { code, stdout, stderr } = await running.done;
  expect(code).toBe(130);
  expect(stderr).toContain('press Ctrl-C again to stop at once');
  expect(stdout).toMatch(/^files: Cancelled in /);
  const done = itemsIn(space);
  expect(done).toBeLessThan(FILES.size);
  const rest = await space.run('dev', '-f', 'pipeline.yaml');
  expect(rest.stdout).toContain(` ${FILES.size - done} added, 0 reprocessed, 0 deleted, 0 failed`);
});

test('Ctrl-C twice ends at once, and the next run completes', async () => {
  const space = filled();
  const running = space.start('dev', '-f', 'pipeline.yaml');
  await untilMoreThan(5, async () => itemsIn(space), running.done);
  running.process.kill('SIGINT');
  running.process.kill('SIGINT');
  expect((await running.done).code).toBe(130);
  expect((await space.run('dev', '-f', 'pipeline.yaml')).code).toBe(0);
  expect(itemsIn(space)).toBe(FILES.size);
});

test('a second process on the same state is refused with the first one named, and queries go on working', async () => {
  const space = new Workspace({ mode: 'interval: 1h' });
  space.write('files/a.txt', 'The anchor holds.\n');
  const first = space.start('dev', '-f', 'pipeline.yaml', '--watch');
  await first.sees(/files: Succeeded/);
  const second = await space.run('dev', '-f', 'pipeline.yaml');
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(new RegExp(`notes\\.db is in use by process ${first.process.pid} `));
  expect((await space.run('query', 'anchor')).stdout).toContain('a.txt:1-1');
  first.process.kill('SIGINT');
  expect((await first.done).code).toBe(0);
  expect((await space.run('dev', '-f', 'pipeline.yaml')).code).toBe(0);
});
