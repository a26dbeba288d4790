// `fairlead dev` with state and rows in one Postgres: the same commands, the same answers.
import { hostname } from 'node:os';
import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { testPostgres } from '../support/postgres.ts';
import { pipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

const postgres = await testPostgres('fairlead dev with state and rows in Postgres');

const from = 'urlFrom: {secretKeyRef: {name: index-db, key: url}}';

/** Pipeline `notes` with state and rows in Postgres. */
function spaceOnPostgres(): Workspace {
  const space = new Workspace();
  space.write(
    'pipeline.yaml',
    pipelineText({ pipeline: `state: {postgres: {${from}}}` }).replace(
      'sqlite: {table: chunks, vector: {dimensions: 64}}',
      `postgres: {${from}, table: chunks, vector: {dimensions: 64}}`,
    ),
  );
  return space;
}

describe.skipIf(postgres === undefined)('on Postgres', () => {
  test('dev, query, plan and verify work as they do on SQLite, and the address never shows', async () => {
    const space = spaceOnPostgres();
    const url = postgres!.url;
    space.write('files/a.txt', 'The anchor holds.\n');
    space.write('files/b.txt', 'The bilge is dry.\n');
    const missing = await space.run('dev', '-f', 'pipeline.yaml');
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain('set FAIRLEAD_SECRET_INDEX_DB_URL');

    space.environment.FAIRLEAD_SECRET_INDEX_DB_URL = url;
    const first = await space.run('dev', '-f', 'pipeline.yaml');
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain('2 added');
    expect((await space.run('query', 'anchor', '-k', '1')).stdout).toContain('a.txt:1-1');
    expect(await space.run('plan')).toMatchObject({ code: 0 });
    expect((await space.run('verify')).stdout).toBe('notes: 2 rows, 0 missing, 0 surplus\n');
    for (const { stdout, stderr } of [missing, first]) expect(`${stdout}${stderr}`).not.toContain(url);

    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const { rows } = await client.query('SELECT key FROM chunks ORDER BY key');
      expect(rows).toEqual([{ key: 'a.txt' }, { key: 'b.txt' }]);
    } finally {
      await client.end();
    }
  });

  test('F21: while one works, another machine is told who has the state; once it is taken over, the first one says so and ends', async () => {
    const url = postgres!.url;
    const here = spaceOnPostgres();
    const there = spaceOnPostgres();
    for (const space of [here, there]) space.environment.FAIRLEAD_SECRET_INDEX_DB_URL = url;
    // Processes of one machine find each other by a socket; those of two do not.
    there.environment.XDG_RUNTIME_DIR = there.folder;
    const watching = here.start('dev', '-f', 'pipeline.yaml', '--watch');
    await watching.sees(/files: Succeeded/);

    const refused = await there.run('dev', '-f', 'pipeline.yaml', '-o', 'json');
    expect(refused.code).toBe(1);
    const holder = `process ${watching.process.pid} on ${hostname()}`;
    expect(refused.stderr).toContain(`${holder} (since `);
    expect(refused.stderr).toContain('has its state and may be gone: waiting for a sign of it until 2');
    expect(refused.stderr).toMatch(/is in use by process .*: stop that process/);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      event: 'waiting',
      pipeline: 'notes',
      heldBy: { pid: watching.process.pid, host: hostname() },
      until: expect.stringMatching(/^2.*Z$/),
    });

    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query("UPDATE fairlead.holders SET host = 'asleep', renewed = renewed - interval '1 minute'");
    await client.end();
    const taking = there.start('dev', '-f', 'pipeline.yaml', '--watch');
    await taking.sees(/files: Succeeded/);
    const lost = await watching.done;
    expect(lost.code).toBe(1);
    expect(lost.stderr).toMatch(
      new RegExp(`process ${taking.process.pid} on .* has taken over its state, so this process stops`),
    );
    taking.process.kill('SIGTERM');
    expect(await taking.done).toMatchObject({ code: 0 });
  });
});
