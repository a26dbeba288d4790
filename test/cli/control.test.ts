// Commands beside a `fairlead dev --watch` on the same state (C1 to C4): it does what they ask, and they tell what became of it. Real processes.
import { describe, expect, test, vi } from 'vitest';
import { testPostgres } from '../support/postgres.ts';
import { pipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

const postgres = await testPostgres('commands beside a fairlead dev on Postgres');

/** A process that stays, once its first cycle ended. */
async function staying(space: Workspace) {
  space.environment.XDG_RUNTIME_DIR = space.folder;
  space.write('files/a.txt', 'The anchor holds.\n');
  const running = space.start('dev', '-f', 'pipeline.yaml', '--watch');
  await running.sees(/files: (Succeeded|CompletedWithErrors)/);
  return running;
}

test('refresh, reprocess, quarantine --release and verify --repair are done by the process at work, which is named', async () => {
  const space = new Workspace();
  const running = await staying(space);
  const refreshed = await space.run('refresh');
  expect(refreshed).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^files: Succeeded in .*: 1 unchanged, 0 added/),
    stderr: `Pipeline notes is at work in process ${running.process.pid}, which does it\n`,
  });
  const { code, stdout } = await space.run('reprocess', '-o', 'json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ event: 'update', result: 'Succeeded', counts: { reprocessed: 1 } });
  expect((await space.run('quarantine', '--release')).stdout).toMatch(/^0 released/);
  expect((await space.run('verify', '--repair')).stdout).toMatch(/^notes: 1 rows, 0 missing, 0 surplus/);
  running.process.kill('SIGINT');
  expect((await running.done).code).toBe(0);
});

test('failed items and exit codes come back too, and what was asked for goes on without whoever asked', async () => {
  const space = new Workspace();
  space.write('pipeline.yaml', pipelineText().replace('read: {}', 'read: {maxBytes: 1Ki}'));
  space.write('files/large.txt', 'A large ship. '.repeat(200));
  const running = await staying(space);
  const refreshed = await space.run('refresh');
  expect(refreshed.code).toBe(3);
  expect(refreshed.stderr).toMatch(/files: large\.txt: read: /);

  const asking = space.start('reprocess');
  await asking.sees(/is at work in process/);
  asking.process.kill('SIGKILL');
  await running.sees(/pipeline: CompletedWithErrors/);

  running.process.kill('SIGKILL');
  await running.done;
  // Its socket is left behind and nobody's: the next command works by itself.
  const alone = await space.run('refresh');
  expect(alone).toMatchObject({ code: 3, stdout: expect.stringContaining('files: CompletedWithErrors') });
  expect(alone.stderr).not.toContain('at work');
});

describe.skipIf(postgres === undefined)('on Postgres', () => {
  test('a second process is refused before it takes the state over, and commands are handed to the first', async () => {
    const from = 'urlFrom: {secretKeyRef: {name: index-db, key: url}}';
    const space = new Workspace();
    space.environment.FAIRLEAD_SECRET_INDEX_DB_URL = postgres!.url;
    const text = pipelineText({ pipeline: `state: {postgres: {${from}}}` });
    space.write('pipeline.yaml', text.replace('sqlite: {table: chunks,', `postgres: {${from}, table: chunks,`));
    const running = await staying(space);
    const second = await space.run('dev', '-f', 'pipeline.yaml');
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('is at work in another process') });
    expect((await space.run('refresh')).stderr).toContain(`process ${running.process.pid}`);
    space.write('files/b.txt', 'The bilge is dry.\n');
    await running.sees(/files b\.txt: Succeeded/);
    running.process.kill('SIGTERM');
    expect((await running.done).code).toBe(0);
  });
});
