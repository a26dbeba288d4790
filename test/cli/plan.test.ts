// `fairlead plan`: what would change, per item, whatever is or is not there yet; and nothing is written, to the last byte.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { Repo } from '../sources/repository.ts';
import { testPostgres } from '../support/postgres.ts';
import { pipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

const postgres = await testPostgres('fairlead plan on Postgres');

test('F106: plan says per item what would change, exits with 2, and writes nothing', async () => {
  const space = new Workspace();
  space.write('files/a.txt', 'Anchor.\n');
  space.write('files/b.txt', 'Bilge.\n');
  expect((await space.run('plan', '-f', 'pipeline.yaml')).stdout).toContain('+ a.txt  new\n');
  await space.run('dev', '-f', 'pipeline.yaml');
  space.write('files/b.txt', 'Boom.\n');
  space.write('files/c.txt', 'Capstan.\n');
  space.remove('files/a.txt');
  const { code, stdout } = await space.run('plan');
  expect(code).toBe(2);
  expect(stdout).toBe(
    '~ b.txt  changed\n+ c.txt  new\n- a.txt  gone from the source\nnotes/files: 1 to add, 1 to process again, 1 to delete, 0 unchanged\n',
  );
  expect(space.keys()).toEqual(['a.txt', 'b.txt']);
  await space.run('dev');
  expect(await space.run('plan')).toMatchObject({
    code: 0,
    stdout: 'notes/files: 0 to add, 0 to process again, 0 to delete, 2 unchanged\n',
  });
});

/** Every file below a folder, with a hash of what it holds. */
function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  return Object.fromEntries(files.sort().map((name) => [name, hash(name)]));
}

/** Runs `plan` and checks that no file came, went or changed. */
async function planned(space: Workspace): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const before = contents(space.folder);
  const { code, stdout, stderr } = await space.run('plan', '-f', 'pipeline.yaml');
  expect(stderr).toBe('');
  expect(contents(space.folder)).toEqual(before);
  return { code, stdout };
}

function indexedFiles(): Promise<Workspace> {
  const space = new Workspace();
  space.write('files/a.txt', 'Anchor.\n');
  space.write('files/b.txt', 'Bilge.\n');
  return space.run('dev', '-f', 'pipeline.yaml').then(() => space);
}

test('nothing is written before the first run, after it, and beside one that was killed', async () => {
  const space = new Workspace();
  space.write('files/a.txt', 'Anchor.\n');
  expect(await planned(space)).toMatchObject({ code: 2 });
  await space.run('dev', '-f', 'pipeline.yaml');
  expect(await planned(space)).toMatchObject({ code: 0 });
  const running = space.start('dev', '-f', 'pipeline.yaml', '--watch');
  await running.sees(/files: Succeeded/);
  running.process.kill('SIGKILL');
  await running.done;
  expect((await space.run('plan', '-f', 'pipeline.yaml')).code).toBe(0);
});

const ALL_AGAIN = 'notes/files: 0 to add, 2 to process again, 0 to delete, 0 unchanged\n';

test('targets that were added and never made, of every kind: every item is processed again', async () => {
  const space = await indexedFiles();
  const added = {
    table: 'sqlite: {table: more}',
    file: 'sqlite: {table: more, path: deep/down/more.db}',
    lines: 'jsonl: {path: rows.jsonl}',
  };
  const exports = Object.keys(added).map((name) => `      - export: {target: ${name}}\n`);
  const targets = Object.entries(added).map(([name, kind]) => `    - name: ${name}\n      ${kind}\n`);
  space.write(
    'pipeline.yaml',
    pipelineText().replace('  targets:\n', `${exports.join('')}  targets:\n${targets.join('')}`),
  );
  const plan = await planned(space);
  expect(plan.stdout).toContain('* a.txt  same content, but spec, code or model differ\n');
  expect(plan).toMatchObject({ code: 2, stdout: expect.stringContaining(ALL_AGAIN) });
  expect((await space.run('dev', '-f', 'pipeline.yaml')).stdout).toContain('2 reprocessed');
  expect(await planned(space)).toMatchObject({ code: 0 });
});

test('other dimensions: a planned rebuild of every item, and the old rows stay until it is run', async () => {
  const space = await indexedFiles();
  space.write('pipeline.yaml', pipelineText().replaceAll('dimensions: 64', 'dimensions: 32'));
  expect(await planned(space)).toMatchObject({ code: 2, stdout: expect.stringContaining(ALL_AGAIN) });
  expect(space.keys()).toEqual(['a.txt', 'b.txt']);
});

test('a table that somebody else made is refused as it would be by a run', async () => {
  const space = await indexedFiles();
  space.write('pipeline.yaml', pipelineText().replace('table: chunks', 'table: work'));
  const { code, stderr } = await space.run('plan', '-f', 'pipeline.yaml');
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('was not made by Fairlead') });
});

test('a repository elsewhere is listed in a copy, so that the one of a process at work stays as it is', async () => {
  const repository = new Repo();
  repository.commit({ 'a.txt': 'Anchor.\n' });
  const space = new Workspace();
  space.write(
    'pipeline.yaml',
    pipelineText().replace('directory: {path: files}', `git: {url: "file://${repository.path}"}`),
  );
  expect((await planned(space)).stdout).toContain('+ a.txt  new');
  await space.run('dev', '-f', 'pipeline.yaml');
  repository.commit({ 'b.txt': 'Bilge.\n' });
  expect((await planned(space)).stdout).toContain('+ b.txt  new');
});

describe.skipIf(postgres === undefined)('on Postgres', () => {
  test('a database without a state: everything is new, and no schema, table or row is made', async () => {
    const space = new Workspace();
    space.write('files/a.txt', 'Anchor.\n');
    const from = 'urlFrom: {secretKeyRef: {name: index-db, key: url}}';
    const text = pipelineText({ pipeline: `state: {postgres: {${from}}}` });
    space.write('pipeline.yaml', text.replace('sqlite: {table: chunks,', `postgres: {${from}, table: planned,`));
    space.environment.FAIRLEAD_SECRET_INDEX_DB_URL = postgres!.url;
    const client = new Client({ connectionString: postgres!.url });
    await client.connect();
    try {
      const tables = async () =>
        (await client.query('SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2')).rows;
      const before = await tables();
      expect(await planned(space)).toEqual({
        code: 2,
        stdout: '+ a.txt  new\nnotes/files: 1 to add, 0 to process again, 0 to delete, 0 unchanged\n',
      });
      expect(await tables()).toEqual(before);
    } finally {
      await client.end();
    }
  });
});
