// Where pushed items are kept: nobody can be asked for them again. The port, and the one of a single machine: a file per item.
//   F1. An item is on disk, flushed, when `put` resolves; a crash leaves the old item or the new one.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListedItem } from '../../execute/index.ts';
import { isGone } from '../common/failure.ts';

export interface StoredItem extends ListedItem {
  readonly sizeBytes: number;
  readonly content: Buffer;
}

/** Keeps the items of one source. */
export interface PushStore {
  /** Durable once it resolves. */
  put(item: StoredItem): Promise<void>;
  remove(key: string): Promise<void>;
  get(key: string): Promise<StoredItem | undefined>;
  /** Pages of what is there. */
  list(): AsyncIterable<readonly ListedItem[]>;
}

const PAGE = 500;
const NEWLINE = 10;
const TEMPORARY = '.new';

/** Files named by the hash of the key: a line of JSON with key and version, then the content. */
export class FolderPushStore implements PushStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(item: StoredItem): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
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

  async remove(key: string): Promise<void> {
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
