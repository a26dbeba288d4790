// One writer for each state file. The lock is the operating system's: a transaction that stays open on a file beside the state's.
//   K1. It is gone the moment its holder is gone, kill -9 included; nothing stale can be left behind.
//   K2. Readers of the state are not touched by it.
//   K3. A refused process learns who holds it: process id, host and since when.
// Network file systems whose locks do not work are no place for a state.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { explained, Sqlite } from '../../database/index.ts';
import { type Holder, mayLive, myself, StateInUseError } from '../holder.ts';
import { getMeta, setMeta } from './schema.ts';

export class WriterLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Takes the lock of a state file or throws `StateInUseError`. */
  static take(file: string): WriterLock {
    const database = explained(file, false, () => new DatabaseSync(`${file}-lock`, { timeout: 0 }));
    try {
      database.exec('BEGIN IMMEDIATE');
      return new WriterLock(database);
    } catch (error) {
      database.close();
      if (isBusy(error)) throw new StateInUseError(file, readHolder(file));
      throw error;
    }
  }

  release(): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

/** Writes the holder's name into the state, for those that are refused. */
export function signAsHolder(database: Sqlite, nowMs: number, isRunner: boolean): void {
  setMeta(database, 'holder', JSON.stringify(myself(nowMs, isRunner)));
}

/** The holder as it signed; undefined while it has not, when the last name is that of a process that is gone. */
function readHolder(file: string): Holder | undefined {
  if (!existsSync(file)) return undefined;
  const database = new Sqlite({ file, readOnly: true });
  try {
    const text = database.hasTable('fairlead_state') ? getMeta(database, 'holder') : undefined;
    const holder = text === undefined ? undefined : (JSON.parse(String(text)) as Holder);
    return holder !== undefined && mayLive(holder) ? holder : undefined;
  } finally {
    database.close();
  }
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode;
  return code !== undefined && (code & 0xff) === SQLITE_BUSY;
}
