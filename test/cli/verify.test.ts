// `fairlead verify`: rows that were damaged behind Fairlead's back are found in both directions, and mended.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

async function indexed(): Promise<Workspace> {
  const space = new Workspace();
  for (const name of ['anchor', 'bilge', 'capstan'])
    space.write(`files/${name}.txt`, `The ${name} is checked each morning.\n`);
  await space.run('dev', '-f', 'pipeline.yaml');
  return space;
}

function damage(space: Workspace, sql: string): void {
  const database = new DatabaseSync(join(space.folder, '.fairlead', 'notes.db'));
  database.exec(sql);
  database.close();
}

test('an index that nobody touched has no difference', async () => {
  const space = await indexed();
  expect(await space.run('verify')).toMatchObject({ code: 0, stdout: 'notes: 3 rows, 0 missing, 0 surplus\n' });
});

test('a row that was lost is found, exit code 1, and --repair writes it again', async () => {
  const space = await indexed();
  const before = space.rows();
  damage(space, 'DELETE FROM chunks_rows WHERE n = (SELECT min(n) FROM chunks_rows)');
  const found = await space.run('verify', '-o', 'json');
  expect(found.code).toBe(1);
  expect(JSON.parse(found.stdout)).toMatchObject({
    results: [{ missing: 1, surplus: 0, differences: [{ kind: 'missing', source: 'files' }] }],
  });
  const repaired = await space.run('verify', '--repair');
  expect(repaired).toMatchObject({
    code: 0,
    stdout: 'notes: 3 rows, 0 missing, 0 surplus; 1 component was mended\n',
  });
  expect(space.rows()).toEqual(before);
});

test('a row that nobody recorded is found, and --repair removes it', async () => {
  const space = await indexed();
  const before = space.rows();
  damage(space, "INSERT INTO chunks_owners(path, source, key) VALUES ('files/ghost.txt', 'files', 'ghost.txt')");
  damage(
    space,
    "INSERT INTO chunks_rows(id, owner, text) SELECT randomblob(16), id, 'boo' FROM chunks_owners WHERE key = 'ghost.txt'",
  );
  const found = await space.run('verify');
  expect(found.code).toBe(1);
  expect(found.stdout).toMatch(/index: row [0-9a-f]{32} of files\/ghost\.txt is not known to the state\n/);
  expect((await space.run('verify', '--repair')).code).toBe(0);
  expect(space.rows()).toEqual(before);
});
