// The example of components that live on, as a user runs and edits it: a real process on a copy of the folder, user code that watches a real file.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import type { RunningCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

test('berths follow their list while the process stays, go on after a restart, and end with their board', async () => {
  const space = new Workspace();
  const example = join(import.meta.dirname, '../../examples/live-steps');
  cpSync(example, space.folder, { recursive: true, filter: (path) => !path.includes('.fairlead') });
  const texts = (): string[] => {
    const database = new DatabaseSync(join(space.folder, '.fairlead', 'live-steps.db'), {
      readOnly: true,
      timeout: 5_000,
    });
    try {
      return database
        .prepare('SELECT text FROM berths ORDER BY text')
        .all()
        .map(({ text }) => String(text));
    } finally {
      database.close();
    }
  };
  const became = (wanted: readonly string[]) =>
    eventually(texts, (seen) => JSON.stringify(seen) === JSON.stringify(wanted), 'the rows of the list');
  const start = async () => {
    const running = space.start('dev', '--watch', '-f', 'live-steps.yaml');
    await running.sees(/boards: Succeeded/);
    return running;
  };
  const stop = async (running: RunningCommand) => {
    running.process.kill('SIGTERM');
    const { code, stderr } = await running.done;
    expect(code, stderr).toBe(0);
  };

  const first = await start();
  await became(['2 berths are free', 'north 1: free', 'north 2: the ketch Marlin', 'south 1: free']);
  space.write('boards/berths.csv', 'north 1,the yawl Tern\nsouth 1,free\n');
  await became(['2 berths are free', 'north 1: the yawl Tern', 'south 1: free']);
  await stop(first);

  space.write('boards/berths.csv', 'west 1,free\n');
  const second = await start();
  await became(['1 berths are free', 'west 1: free']);
  space.remove('boards/harbour.json');
  await became([]);
  await stop(second);
});
