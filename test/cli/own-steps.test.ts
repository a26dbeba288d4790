// The example of steps of one's own, as a user runs and edits it: real processes on a copy of the folder.
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

const EXAMPLE = join(import.meta.dirname, '../../examples/own-steps');

class OwnSteps extends Workspace {
  constructor() {
    super();
    cpSync(EXAMPLE, this.folder, { recursive: true, filter: (path) => !path.includes('.fairlead') });
  }

  edit(path: string, from: string, to: string): void {
    const text = readFileSync(join(this.folder, path), 'utf8');
    expect(text).toContain(from);
    this.write(path, text.replace(from, to));
  }

  /** The line of one pass over the notes. */
  async pass(): Promise<{ counts: string; notes: string; code: number | null }> {
    const { code, stdout, stderr } = await this.run('dev', '-f', 'own-steps.yaml', '--once');
    return { code, counts: stdout.replace(/^notes: \w+ in [^:]*: /, '').trim(), notes: `${stdout}${stderr}` };
  }

  texts(table: string): string[] {
    const database = new DatabaseSync(join(this.folder, '.fairlead', 'own-steps.db'), { readOnly: true });
    try {
      return database
        .prepare(`SELECT text FROM ${table} ORDER BY text`)
        .all()
        .map(({ text }) => String(text));
    } finally {
      database.close();
    }
  }
}

test('F13, F24: the example runs; an edit of the module or of a file that it imports runs every note again; a task that leaves takes its row along', async () => {
  const space = new OwnSteps();
  expect((await space.pass()).counts).toBe('0 unchanged, 2 added, 0 reprocessed, 0 deleted, 0 failed');
  const tasks = ['ask the harbour master about winter berths', 'order split pins', 'renew the chain of buoy seven'];
  expect(space.texts('tasks')).toEqual(tasks);
  expect(space.texts('sections').length).toBe(5);
  expect((await space.pass()).counts).toBe('2 unchanged, 0 added, 0 reprocessed, 0 deleted, 0 failed');

  space.edit('heading.ts', '.trim() }', '.trim().toUpperCase() }');
  expect((await space.pass()).counts).toBe('0 unchanged, 0 added, 2 reprocessed, 0 deleted, 0 failed');
  expect(space.texts('sections')).toContain('## FUEL\n\nDIESEL IS SOLD FROM EIGHT TO NOON.');

  space.edit('notes/rigging.md', '- TODO order split pins', 'Done.');
  expect((await space.pass()).counts).toBe('1 unchanged, 0 added, 1 reprocessed, 0 deleted, 0 failed');
  expect(space.texts('tasks')).toEqual(tasks.filter((task) => !task.includes('split pins')));
});

test('a failing step names the line of the module, keeps the rows that were there, and stops no other note', async () => {
  const space = new OwnSteps();
  await space.pass();
  const before = space.texts('sections');
  space.edit(
    'steps.ts',
    'if (texts.length === 0)',
    "if (item.key === 'harbour.md') texts.at(99)!.title.trim();\n  if (texts.length === 0)",
  );
  const failed = await space.pass();
  expect(failed.notes).toContain('0 unchanged, 0 added, 1 reprocessed, 0 deleted, 1 failed');
  expect(failed.notes).toMatch(/harbour\.md.*TypeError: Cannot read properties of undefined/);
  expect(failed.notes).toMatch(/at sections \(steps\.ts:\d+:\d+\)/);
  expect(space.texts('sections')).toEqual(before);
});

test('a module that cannot be loaded, or lacks the function, is refused by its file before anything runs', async () => {
  const space = new OwnSteps();
  space.edit('own-steps.yaml', 'entry: tasks', 'entry: chores');
  const missing = await space.pass();
  expect(missing.code).not.toBe(0);
  expect(missing.notes).toMatch(/steps\.ts exports no function "chores"; it exports .*tasks/);
  space.write('steps.ts', "import { nothing } from './absent.ts';\nexport const chores = nothing;\n");
  expect((await space.pass()).notes).toMatch(/steps\.ts cannot be loaded: .*absent\.ts/);
});
