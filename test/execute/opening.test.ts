// Why a Pipeline could not be opened, as a runner says it to the operator.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { pipelineSpec } from '../../crds/schema/index.ts';
import { assemble, openingReason, type Part } from '../../runner/assemble/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { testPostgres } from '../support/postgres.ts';

const postgres = await testPostgres('what refuses to be opened');

/** Opens a Pipeline whose target is in a database, and says the reason for which it does not open. */
async function reasonOf(url: string, table: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-opening-'));
  const spec = pipelineSpec.parse({
    state: { sqlite: {} },
    component: { steps: [{ read: {} }, { export: { target: 'rows' } }] },
    targets: [{ name: 'rows', postgres: { urlFrom: { env: 'URL' }, table } }],
  });
  let part: Part | undefined;
  try {
    const assembly = await assemble({
      pipeline: 'index',
      spec,
      sources: [],
      folders: { base: folder, home: folder },
      clock: systemClock,
      secret: async () => url,
      epoch: 1,
      opening: (opened) => {
        part = opened;
      },
    });
    await assembly.close();
    return 'it opened';
  } catch (error) {
    return openingReason(error, part);
  }
}

describe.skipIf(postgres === undefined)('a Pipeline is not opened', () => {
  const url = postgres?.url ?? '';

  test('where a table is not of Fairlead: TargetRefused', async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('CREATE TABLE of_others (id int)');
    await client.end();
    expect(await reasonOf(url, 'of_others')).toBe('TargetRefused');
  });

  test('where the database is not there: TargetRefused', async () => {
    expect(await reasonOf(url.replace(/\/fairlead_\w+/, '/nowhere'), 'rows')).toBe('TargetRefused');
  });

  test('where nothing answers: TargetUnreachable', async () => {
    expect(await reasonOf('postgres://a:b@127.0.0.1:1/db', 'rows')).toBe('TargetUnreachable');
  });
});
