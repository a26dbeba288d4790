// `fairlead dev` with state and rows in one Postgres: the same commands, the same answers.
import { hostname } from 'node:os';
import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import type { CommandResult } from '../support/command.ts';
import { testPostgres } from '../support/postgres.ts';
import { pipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

const postgres = await testPostgres('fairlead dev with state and rows in Postgres');

const from = 'urlFrom: {secretKeyRef: {name: index-db, key: url}}';

/** Pipeline `notes` with state and rows in Postgres. */
function spaceOnPostgres(table = 'chunks'): Workspace {
  const space = new Workspace();
  space.write(
    'pipeline.yaml',
    pipelineText({ pipeline: `state: {postgres: {${from}, schema: state_of_${table}}}` }).replace(
      'sqlite: {table: chunks, vector: {dimensions: 64}}',
      `postgres: {${from}, table: ${table}, vector: {dimensions: 64}}`,
    ),
  );
  return space;
}

async function asked(url: string, sql: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
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

    const { rows } = await asked(url, 'SELECT key FROM chunks ORDER BY key');
    expect(rows).toEqual([{ key: 'a.txt' }, { key: 'b.txt' }]);
  });

  test('F21: while one works, another machine is told who has the state; once it is taken over, the first one says so and ends', async () => {
    const url = postgres!.url;
    const here = spaceOnPostgres('taken');
    const there = spaceOnPostgres('taken');
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

    // As a machine that falls asleep: it renews nothing, its lease ends, and it wakes up when another one has the state.
    watching.process.kill('SIGSTOP');
    await asked(url, "UPDATE state_of_taken.tenures SET renewed = renewed - interval '1 minute'");
    const taking = there.start('dev', '-f', 'pipeline.yaml', '--watch');
    await taking.sees(/files: Succeeded/);
    watching.process.kill('SIGCONT');
    const lost = await watching.done;
    expect(lost.code).toBe(1);
    expect(lost.stderr).toMatch(
      new RegExp(`process ${taking.process.pid} on .* has taken over its state, so this process stops`),
    );
    taking.process.kill('SIGTERM');
    expect(await taking.done).toMatchObject({ code: 0 });
  });

  test('F23: on SQLite and on Postgres the same files give the same rows, plans, answers and counts', async () => {
    const onSqlite = new Workspace();
    const onPostgres = spaceOnPostgres('alike');
    onPostgres.environment.FAIRLEAD_SECRET_INDEX_DB_URL = postgres!.url;
    const both = async (...args: string[]) => {
      const [one, other] = [await onSqlite.run(...args), await onPostgres.run(...args)];
      const alike = ({ code, stdout }: CommandResult) => ({
        code,
        stdout: stdout.replace(/ in [\d.]+ m?s:/, ' in a moment:'),
      });
      expect(alike(other), args.join(' ')).toEqual(alike(one));
      return one;
    };
    for (const space of [onSqlite, onPostgres]) {
      space.write('files/anchor.md', '# Anchor\n\nThe anchor holds in sand.\n\n# Chain\n\nSix times the depth.\n');
      space.write('files/bilge.txt', 'The bilge is dry.\n');
    }
    await both('plan', '-f', 'pipeline.yaml');
    expect((await both('dev', '-f', 'pipeline.yaml')).stdout).toContain('2 added');
    for (const space of [onSqlite, onPostgres]) {
      space.write('files/anchor.md', '# Anchor\n\nThe anchor drags.\n');
      space.write('files/cleat.txt', 'A cleat takes the rope.\n');
      space.remove('files/bilge.txt');
    }
    expect((await both('plan')).code).toBe(2);
    expect((await both('dev')).stdout).toContain('1 added, 1 reprocessed, 1 deleted');
    expect((await both('verify')).stdout).toMatch(/^notes: 2 rows, 0 missing/);
    const { rows } = await asked(
      postgres!.url,
      'SELECT key, text, start_line, end_line FROM alike ORDER BY key, start_byte, text',
    );
    expect(rows).toEqual(onSqlite.rows());
    expect((await both('query', 'rope', '-k', '1')).stdout).toContain('cleat.txt:1-1');
  });

  test('F3, F38: rows of a table that changed while the listening connection was lost are in the target once it is back', async () => {
    const url = postgres!.url;
    const space = new Workspace();
    const source = 'postgres: {urlFrom: {env: PG_URL}, table: ports, key: [id], content: body, channel: ports_changed}';
    space.write('pipeline.yaml', pipelineText({ mode: 'mode: Watch' }).replace('directory: {path: files}', source));
    space.environment.PG_URL = url;
    await asked(
      url,
      "CREATE TABLE ports (id text PRIMARY KEY, body text); INSERT INTO ports VALUES ('keep', 'stays'), ('edit', 'before'), ('drop', 'goes')",
    );
    const running = space.start('dev', '-f', 'pipeline.yaml', '--watch');
    await running.sees(/files: Succeeded .* 3 added/);
    await asked(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database();
       INSERT INTO ports VALUES ('new', 'comes'); UPDATE ports SET body = 'after' WHERE id = 'edit'; DELETE FROM ports WHERE id = 'drop'`,
    );
    await running.sees(/files: Succeeded .* 1 unchanged, 1 added, 1 reprocessed, 1 deleted/);
    running.process.kill('SIGTERM');
    expect((await running.done).code).toBe(0);
    expect(space.rows().map(({ text }) => text)).toEqual(['after', 'stays', 'comes']);
  });
});
