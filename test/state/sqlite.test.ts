// The embedded state passes the contract, and keeps the promises that only a file can break.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { SqliteState } from '../../runner/state/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { stateContract } from './contract.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-state-'));
  folders.push(folder);
  return join(folder, 'state.db');
}

stateContract('SQLite', async () => {
  const clock = new VirtualClock();
  const file = newFile();
  return {
    store: () => new SqliteState({ file, clock }),
    passMs: async (ms) => clock.advance(ms),
  };
});
