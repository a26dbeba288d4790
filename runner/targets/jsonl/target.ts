// Rows as a file of JSON Lines: for tests, debugging and export.
//   J1. The file is always whole: it is written beside and then put in place, never changed in place.
//   J2. What was applied is never lost: it is in the index file first. The lines follow when changes pause, and at the latest on close.
//   J3. Equal rows give an equal file, byte for byte.
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import type { CancelTimer, Clock } from '../../clock.ts';
import { NothingIndexed } from '../../database/index.ts';
import type { RowChange, Target } from '../../execute/index.ts';
import { Adoption, TargetRefused } from '../ownership.ts';
import { checkFinite } from '../vectors.ts';
import { IndexFile } from './index-file.ts';
import { rowIn } from './line.ts';
import { linesOf } from './lines-of.ts';

export interface JsonlTargetOptions {
  readonly name: string;
  readonly path: string;
  readonly clock: Clock;
  readonly pipeline: string;
  readonly stateId?: string;
  /** Looks only: a file that was never made stands for one without rows. */
  readonly readOnly?: boolean;
}

/** Changes that follow within this time of each other are written into the file together. */
const QUIET_MS = 500;
const CHUNK_CHARS = 1 << 20;

export class JsonlTarget implements Target {
  readonly name: string;
  readonly shared = false;
  readonly keepsVectors = false;
  readonly #options: JsonlTargetOptions;
  #index: IndexFile | undefined;
  #isDirty = false;
  #cancelWrite: CancelTimer | undefined;

  constructor(options: JsonlTargetOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get identity(): string {
    return `jsonl ${this.#open().get('generation')}`;
  }

  #open(): IndexFile {
    if (this.#index === undefined) throw new Error(`target ${this.name} was not prepared`);
    return this.#index;
  }

  async prepare(): Promise<'ready' | 'rebuilt' | 'adopted'> {
    const { path, pipeline, stateId } = this.#options;
    const indexPath = `${path}.index`;
    if (!existsSync(indexPath)) this.#refuseForeign();
    if (this.#options.readOnly === true) {
      if (!existsSync(indexPath)) throw new NothingIndexed(`target ${this.name}: nothing was written to ${path} yet`);
      this.#index = new IndexFile(indexPath, true);
      return 'ready';
    }
    const index = new IndexFile(indexPath, false);
    this.#index = index;
    const owner = { pipeline, stateId: stateId ?? '' };
    const isNew = index.make();
    if (!isNew && new Adoption(this.name, path, index.owner(), owner).isNeeded) index.adoptAll();
    index.set('pipeline', owner.pipeline);
    index.set('stateId', owner.stateId);
    // The process before this one may have died between applying and writing.
    this.#write();
    return index.hasAdopted() ? 'adopted' : 'ready';
  }

  #refuseForeign(): void {
    const { path } = this.#options;
    if (!existsSync(path)) return;
    const head = headOf(path);
    if (head.trim() === '' || rowIn(head.split('\n')[0] as string) || head.startsWith('{"id":"')) return;
    throw new TargetRefused(this.name, `${path} was not written by Fairlead: name another file, or delete it`);
  }

  async apply(changes: readonly RowChange[]): Promise<void> {
    checkFinite(this.name, changes);
    this.#open().apply(changes);
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#isDirty = true;
    this.#cancelWrite?.();
    this.#cancelWrite = this.#options.clock.after(QUIET_MS, () => {
      try {
        this.#write();
      } catch {
        // It stays dirty: the next change writes again, and `close` reports what hinders it.
      }
    });
  }

  #write(): void {
    const fresh = `${this.#options.path}.new`;
    const file = openSync(fresh, 'w');
    try {
      let chunk = '';
      for (const line of this.#open().lines()) {
        chunk += `${line}\n`;
        if (chunk.length < CHUNK_CHARS) continue;
        writeSync(file, chunk);
        chunk = '';
      }
      writeSync(file, chunk);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, this.#options.path);
    this.#open().caughtUp();
    this.#isDirty = false;
  }

  async vectors(): Promise<ReadonlyMap<string, Float32Array>> {
    return new Map();
  }

  async scan(afterId: string, limit: number): Promise<readonly { readonly id: string; readonly owner: string }[]> {
    if (afterId === '') this.#look();
    return this.#open().scan(afterId, limit);
  }

  /** Beside a process that is about to write the file, what it will write counts. */
  #look(): void {
    if (this.#isDirty) this.#write();
    const index = this.#open();
    index.look(index.isAhead ? index.lines() : linesOf(this.#options.path));
  }

  async sweep(): Promise<number> {
    const swept = this.#open().sweep();
    this.#writeSoon();
    return swept;
  }

  async drop(): Promise<void> {
    const { path } = this.#options;
    this.#stop();
    for (const suffix of ['', '.new', '.index', '.index-wal', '.index-shm'])
      rmSync(`${path}${suffix}`, { force: true });
  }

  async close(): Promise<void> {
    if (this.#index !== undefined && this.#isDirty) this.#write();
    this.#stop();
  }

  #stop(): void {
    this.#cancelWrite?.();
    this.#index?.close();
    this.#index = undefined;
    this.#isDirty = false;
  }
}

function headOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(65_536);
    return buffer.toString('utf8', 0, readSync(file, buffer));
  } finally {
    closeSync(file);
  }
}
