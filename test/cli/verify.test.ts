// `fairlead verify`: rows that were damaged behind Fairlead's back are found in both directions, and mended.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { type PipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

async function indexed(options: PipelineText = {}): Promise<Workspace> {
  const space = new Workspace(options);
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

const THREE_TARGETS = 'split: {by: text}\n      - export: {target: rows}\n      - export: {target: own}';
const OF_THEIR_OWN = '- {name: rows, jsonl: {path: rows.jsonl}}\n    - {name: own, sqlite: {path: own.db, table: own}}';

/** What somebody does to a target behind Fairlead's back, that takes all of its rows. */
const LOSSES: Readonly<Record<string, (space: Workspace) => void>> = {
  'a file of rows was deleted': (space) => space.remove('rows.jsonl'),
  'a file of rows was deleted with its index': (space) => {
    for (const name of ['rows.jsonl', 'rows.jsonl.index']) space.remove(name);
  },
  'a database was deleted': (space) => space.remove('own.db'),
  'a table was dropped': (space) => {
    const database = new DatabaseSync(join(space.folder, 'own.db'));
    database.exec('DROP TABLE own_rows');
    database.close();
  },
};

for (const [sentence, lose] of Object.entries(LOSSES))
  test(`${sentence}: all its rows are missing, exit code 1, and --repair brings them back`, async () => {
    const space = await indexed({ steps: THREE_TARGETS, targets: OF_THEIR_OWN });
    expect((await space.run('verify')).stdout).toBe('notes: 9 rows, 0 missing, 0 surplus\n');
    lose(space);
    const found = await space.run('verify');
    expect([found.code, found.stdout.split('\n').at(-2)]).toEqual([1, 'notes: 9 rows, 3 missing, 0 surplus']);
    const repaired = await space.run('verify', '--repair');
    expect([repaired.code, repaired.stdout]).toEqual([0, expect.stringContaining('0 missing, 0 surplus')]);
    expect(await space.run('verify')).toMatchObject({ code: 0, stdout: 'notes: 9 rows, 0 missing, 0 surplus\n' });
  });
