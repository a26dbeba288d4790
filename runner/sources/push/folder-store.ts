// Pushed items of a single machine: a file per item.
//   F1. An item is on disk, flushed, when `keep` resolves; a crash leaves the old item or the new one.
//   F2. Which messages were kept is known as long as the process lives: one that comes again after a crash is kept again, item by item.
import { createHash, randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { ListedItem } from '../../execute/index.ts';
import { makeFolder } from '../../folders.ts';
import { isGone } from '../common/failure.ts';
import type { KeptMessage, PushStore, StoredItem } from './store.ts';

const PAGE = 500;
const NEWLINE = 10;
const TEMPORARY = '.new';

/** Folder of what was pushed to a source; `keepDir` lasts. */
export const pushFolder = (keepDir: string, source: string): string =>
  join(keepDir, `push-${encodeURIComponent(source)}`);

/** Takes away what was kept for these sources. */
export async function forgetPushedIn(keepDir: string, sources: readonly string[]): Promise<void> {
  for (const source of sources) await rm(pushFolder(keepDir, source), { recursive: true, force: true });
}

/** Files named by the hash of the key: a line of JSON with key and version, then the content. */
export class FolderPushStore implements PushStore {
  readonly #folder: string;
  readonly #clock: Clock;
  /** Messages that were kept, with the time until which they may come again. */
  readonly #kept = new Map<string, number>();

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async keep({ identity, untilMs, items }: KeptMessage): Promise<boolean> {
    const nowMs = this.#clock.nowMs();
    for (const [known, knownUntilMs] of this.#kept) if (knownUntilMs < nowMs) this.#kept.delete(known);
    if (this.#kept.has(identity)) return false;
    for (const item of items) {
      if (item.content === undefined) await this.#remove(item.key);
      else await this.#put(item);
    }
    this.#kept.set(identity, untilMs);
    return true;
  }

  async #put(item: StoredItem): Promise<void> {
    makeFolder(this.#folder);
    const temporary = join(this.#folder, `${randomUUID()}${TEMPORARY}`);
    const file = await open(temporary, 'wx', 0o600);
    try {
      const { key, version, sizeBytes } = item;
      await file.writev([Buffer.from(`${JSON.stringify({ key, version, sizeBytes })}\n`), item.content]);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path(item.key));
    await this.#flush();
  }

  async #remove(key: string): Promise<void> {
    await rm(this.#path(key), { force: true });
    await this.#flush();
  }

  async get(key: string): Promise<StoredItem | undefined> {
    return await this.#read(this.#path(key));
  }

  async *list(): AsyncGenerator<readonly ListedItem[]> {
    const names = (await namesIn(this.#folder)).filter((name) => !name.endsWith(TEMPORARY)).sort();
    for (let at = 0; at < names.length; at += PAGE) {
      const items = await Promise.all(names.slice(at, at + PAGE).map((name) => this.#read(join(this.#folder, name))));
      yield items
        .filter((item) => item !== undefined)
        .map(({ key, version, sizeBytes }) => ({ key, version, sizeBytes }));
    }
  }

  async #read(path: string): Promise<StoredItem | undefined> {
    try {
      const bytes = await readFile(path);
      const end = bytes.indexOf(NEWLINE);
      const head = JSON.parse(bytes.toString('utf8', 0, end)) as { key: string; version: string; sizeBytes: number };
      return { ...head, content: bytes.subarray(end + 1) };
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /** Names in a folder last once the folder itself is flushed. */
  async #flush(): Promise<void> {
    const folder = await open(this.#folder, 'r').catch(() => undefined);
    try {
      await folder?.sync();
    } finally {
      await folder?.close();
    }
  }

  #path(key: string): string {
    return join(this.#folder, createHash('sha256').update(key).digest('hex'));
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}
