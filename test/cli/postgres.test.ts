// `fairlead dev` with state and rows in one Postgres: the same commands, the same answers.
import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { testPostgres } from '../support/postgres.ts';
import { pipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

const postgres = await testPostgres('fairlead dev with state and rows in Postgres');

describe.skipIf(postgres === undefined)('on Postgres', () => {
  test('dev, query, plan and verify work as they do on SQLite, and the address never shows', async () => {
    const space = new Workspace();
    const url = postgres!.url;
    const from = 'urlFrom: {secretKeyRef: {name: index-db, key: url}}';
    space.write(
      'pipeline.yaml',
      pipelineText({ pipeline: `state: {postgres: {${from}}}` }).replace(
        'sqlite: {table: chunks, vector: {dimensions: 64}}',
        `postgres: {${from}, table: chunks, vector: {dimensions: 64}}`,
      ),
    );
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
});
