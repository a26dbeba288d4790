// The embedded state: one file, one writer, everything synchronous inside and asynchronous only towards the port.
//   S1. Each call of the port is one transaction or none; a rejection leaves nothing written.
//   S2. Shared targets are applied inside the commit's transaction.
//   S3. A second writer is refused by name; readers may open the file at any time (`readOnly`).
import type { Clock } from '../../clock.ts';
import { Sqlite, type SqliteLodger } from '../../database/index.ts';
import type {
  Commit,
  CommitResult,
  Comparison,
  ComponentRecord,
  ComponentRef,
  Entered,
  Extent,
  Intent,
  ItemRecord,
  ListedItem,
  MemoEntry,
  NewWork,
  Opened,
  RowChange,
  StateStore,
  UpdateRecord,
  WorkEntry,
  WorkRef,
} from '../../execute/index.ts';
import { type Census, itemPath, type Json } from '../../protocol/index.ts';
import { claimed, type Epochs } from '../epochs.ts';
import { segmentKey, sourcePath, splitPath } from '../names.ts';
import { STATUSES } from '../records.ts';
import { Ticks } from '../ticks.ts';
import { heldItems } from './census.ts';
import { Commits } from './commits.ts';
import { Comparing } from './comparing.ts';
import { Components } from './components.ts';
import { History } from './history.ts';
import { signAsHolder, WriterLock } from './lock.ts';
import { MemoTable } from './memo.ts';
import { Removals } from './removals.ts';
import { getMeta, prepareSchema, setMeta } from './schema.ts';
import { WorkList } from './work.ts';

export interface SqliteStateOptions {
  /** Path of the file; it is made if it is not there. */
  readonly file: string;
  readonly clock: Clock;
  /** Targets that live in the same file. */
  readonly shared?: readonly SqliteLodger<RowChange>[];
  /** For commands that only look: takes no lock, writes nothing; the file must be there. */
  readonly readOnly?: boolean;
}

interface Parts {
  readonly database: Sqlite;
  readonly components: Components;
  readonly comparing: Comparing;
  readonly work: WorkList;
  readonly commits: Commits;
  readonly memo: MemoTable;
  readonly history: History;
}

export class SqliteState implements StateStore {
  readonly #options: SqliteStateOptions;
  #lock: WriterLock | undefined;
  #parts: Parts | undefined;
  #epoch = 0;
  #ticks: Ticks;

  constructor(options: SqliteStateOptions) {
    this.#options = options;
    this.#ticks = new Ticks(options.clock);
  }

  async open(epoch: number | 'next'): Promise<number> {
    if (this.#parts !== undefined) throw new Error(`the state ${this.#options.file} is open already`);
    if (!this.#options.readOnly) this.#lock = WriterLock.take(this.#options.file);
    try {
      this.#parts = this.#openParts();
      this.#epoch = this.#options.readOnly ? this.#seenEpochs().epoch : this.#claim(epoch);
      return this.#epoch;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #openParts(): Parts {
    const { file, readOnly, shared } = this.#options;
    const database = new Sqlite({ file, readOnly: readOnly ?? false });
    try {
      prepareSchema(database);
      const components = new Components(database);
      const work = new WorkList(database, components);
      const tables = {
        database,
        components,
        work,
        memo: new MemoTable(database),
        history: new History(database),
        removals: new Removals(database),
      };
      const commits = new Commits(tables, shared ?? []);
      for (const lodger of shared ?? []) lodger.lodge(database);
      return { ...tables, commits, comparing: new Comparing(database, components, work) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #seenEpochs(): Epochs {
    const { database } = this.#open();
    const shift = getMeta(database, 'shift') ?? '';
    return { epoch: Number(getMeta(database, 'epoch') ?? 0), ...(shift !== '' && { shift: Number(shift) }) };
  }

  #claim(wanted: number | 'next'): number {
    const { database, work } = this.#open();
    return database.transact(() => {
      // S3: nobody else works on it.
      const { epoch, shift = '' } = claimed(wanted, this.#seenEpochs(), true)!;
      setMeta(database, 'epoch', epoch);
      setMeta(database, 'shift', shift);
      this.#ticks = new Ticks(this.#options.clock, Number(getMeta(database, 'closedAtMs') ?? 0));
      signAsHolder(database, this.#options.clock.nowMs(), wanted !== 'next');
      work.sweepOwners();
      return epoch;
    });
  }

  async close(): Promise<void> {
    const database = this.#parts?.database;
    try {
      if (database !== undefined && !database.readOnly) setMeta(database, 'closedAtMs', this.#ticks.lastMs);
    } catch {
      // A disk that is full or gone must not keep the state open; only a clock that goes back later could miss this time.
    } finally {
      database?.close();
      this.#parts = undefined;
      this.#lock?.release();
      this.#lock = undefined;
    }
  }

  /** Identity of this state, for targets: a state that was lost and made anew has another one. */
  stateId(): string {
    return String(getMeta(this.#open().database, 'stateId'));
  }

  #open(): Parts {
    if (this.#parts === undefined) throw new Error(`the state ${this.#options.file} is not open`);
    return this.#parts;
  }

  /** S1. What a transaction that was undone had cached is forgotten. */
  #write<T>(body: (parts: Parts, nowMs: number) => T): T {
    const parts = this.#open();
    try {
      return parts.database.transact(() => body(parts, this.#ticks.next()));
    } catch (error) {
      parts.components.parents.forget();
      parts.components.ids.reload();
      parts.work.owners.forget();
      throw error;
    }
  }

  async nowMs(): Promise<number> {
    return this.#ticks.next();
  }

  async compare(source: string, items: readonly ListedItem[], fingerprint: string): Promise<readonly Comparison[]> {
    return this.#open().comparing.compare(source, items, fingerprint);
  }

  async begin(refs: readonly ComponentRef[]): Promise<readonly Opened[]> {
    return refs.map((ref) => this.#begin(ref));
  }

  #begin(ref: ComponentRef): Opened {
    const { components, work } = this.#open();
    const path = splitPath(ref.path);
    const row = components.find(path);
    const record = row === undefined ? undefined : components.record(row, ref.path);
    const entry = ref.item === undefined ? undefined : work.entry(path);
    return {
      ...(entry === undefined ? {} : { work: entry }),
      ...(row === undefined || ref.item === undefined ? {} : { item: components.item(row, ref.item.source) }),
      ...(record === undefined ? {} : { component: record }),
    };
  }

  async item(source: string, key: string): Promise<ItemRecord | undefined> {
    const { components } = this.#open();
    const row = components.find(splitPath(itemPath(source, key)));
    return row === undefined ? undefined : components.item(row, source);
  }

  async scanItems(
    filter: { readonly source?: string; readonly status?: ItemRecord['status']; readonly otherThan?: string },
    afterId: number,
    limit: number,
  ): Promise<readonly ItemRecord[]> {
    const { components } = this.#open();
    const wheres = ['is_item = 1'];
    const values: (string | number)[] = [];
    const where = (text: string, value: string | number) => {
      wheres.push(text);
      values.push(value);
    };
    if (filter.source !== undefined) where('parent = ?', components.parents.find(sourcePath(filter.source)) ?? -1);
    if (filter.status !== undefined) where('status = ?', STATUSES.indexOf(filter.status));
    if (filter.otherThan !== undefined) where('fingerprint <> ?', filter.otherThan);
    return components
      .scan(wheres.join(' AND '), values, afterId, limit)
      .map((row) => components.item(row, filter.source));
  }

  async scanKeys(source: string, afterId: number, limit: number) {
    const { components, database } = this.#open();
    const parent = components.parents.find(sourcePath(source)) ?? -1;
    return database
      .sql('SELECT id, key, seen_at FROM components WHERE parent = ? AND is_item = 1 AND id > ? ORDER BY id LIMIT ?')
      .all(parent, afterId, limit)
      .map((cells) => {
        const [id, segment, seenAtMs] = cells as unknown as [number, string, number];
        return { id, key: segmentKey(segment), seenAtMs };
      });
  }

  async extent(source: string): Promise<Extent> {
    const { components, database } = this.#open();
    const parent = components.parents.find(sourcePath(source)) ?? -1;
    const row = database.sql('SELECT count(*) FROM components WHERE parent = ? AND is_item = 1').get(parent);
    return { items: (row as unknown as [number])[0], lastId: components.ids.last };
  }

  async census(): Promise<Census> {
    const sources = heldItems(this.#open().database);
    return { atMs: this.#ticks.next(), sources };
  }

  async release(source: string | undefined, keys?: readonly string[]): Promise<number> {
    return this.#write(({ components, database }) => {
      const scope: (string | number)[] = [];
      let where = 'status = 2';
      if (source !== undefined) {
        where += ' AND parent = ?';
        scope.push(components.parents.find(sourcePath(source)) ?? -1);
      }
      if (keys !== undefined) {
        where += ' AND key IN (SELECT value FROM json_each(?))';
        scope.push(JSON.stringify(keys.map((key) => sourcePath(key))));
      }
      const sql = `UPDATE components SET status = 1, failures = 0, losses = 0 WHERE ${where}`;
      return Number(database.sql(sql).run(...scope).changes);
    });
  }

  async enter(offers: readonly NewWork[]): Promise<readonly Entered[]> {
    return this.#write(({ work }) => work.enter(offers));
  }

  async takeWork(update: string, afterSeq: number, limit: number): Promise<readonly WorkEntry[]> {
    return this.#open().work.take(update, afterSeq, limit);
  }

  async startWork(entries: readonly WorkRef[]): Promise<void> {
    this.#markWork(entries, true);
  }

  async restWork(entries: readonly WorkRef[]): Promise<void> {
    this.#markWork(entries, false);
  }

  #markWork(entries: readonly WorkRef[], isStarted: boolean): void {
    this.#write(({ work }) => {
      for (const entry of entries) work.mark(entry, isStarted);
    });
  }

  async countWork(filter: { readonly update?: string; readonly source?: string }): Promise<number> {
    return this.#open().work.count(filter);
  }

  async adoptWork(source: string, update: string, open: readonly string[]): Promise<number> {
    return this.#write(({ work }) => work.adopt(source, update, open));
  }

  async dropWork(update: string, items: Parameters<StateStore['dropWork']>[1]): Promise<void> {
    this.#write(({ work }) => {
      for (const item of items) work.drop(update, item);
    });
  }

  async components(paths: readonly string[]): Promise<readonly (ComponentRecord | undefined)[]> {
    const { components } = this.#open();
    return paths.map((path) => {
      const row = components.find(splitPath(path));
      return row === undefined ? undefined : components.record(row, path);
    });
  }

  async children(path: string, afterPath: string, limit: number): Promise<readonly string[]> {
    return this.#open().components.children(path, afterPath, limit);
  }

  async intend(intents: readonly Intent[]): Promise<readonly CommitResult[]> {
    return this.#write(({ commits }) => commits.intend(intents, this.#epoch));
  }

  async doubt(intents: readonly Intent[]): Promise<void> {
    this.#write(({ commits }) => commits.doubt(intents));
  }

  async commit(group: readonly Commit[]): Promise<readonly CommitResult[]> {
    return this.#write(({ commits }, nowMs) => commits.commit(group, this.#epoch, nowMs));
  }

  readonly memo: StateStore['memo'] = {
    get: async (keys) => this.#open().memo.get(keys),
    put: async (entries: readonly MemoEntry[]) => this.#write(({ memo }, nowMs) => memo.putRetired(entries, nowMs)),
    collect: async (maxAgeMs) => this.#write(({ memo }, nowMs) => memo.collect(nowMs - maxAgeMs)),
  };

  async cursor(path: string): Promise<Json | undefined> {
    return this.#open().history.cursor(path);
  }

  async cursors(path: string, afterPath: string, limit: number) {
    return this.#open().history.cursors(path, afterPath, limit);
  }

  async setCursor(path: string, value: Json): Promise<void> {
    this.#write(({ history }) => history.setCursor(path, value));
  }

  async saveUpdate(update: UpdateRecord): Promise<void> {
    this.#write(({ history }) => history.save(update));
  }

  async updates(limit: number): Promise<readonly UpdateRecord[]> {
    return this.#open().history.newest(limit);
  }

  async sizes() {
    const { database } = this.#open();
    const count = (table: string, where = '1 = 1') =>
      (database.sql(`SELECT count(*) FROM ${table} WHERE ${where}`).get() as unknown as [number])[0];
    return {
      bytes: database.sizeBytes(),
      items: count('components', 'is_item = 1'),
      components: count('components'),
      memoEntries: count('memo'),
      work: count('work'),
    };
  }
}
