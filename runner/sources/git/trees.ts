// Trees of a repository, read by hash: what lies at a path, and what differs between two trees. Equal hashes are equal content,
// so a comparison reads only what changed.
import { keyOf } from '../common/names.ts';
import type { ObjectReader } from './objects.ts';

export interface TreeEntry {
  /** Name as raw bytes. */
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'submodule';
  readonly id: string;
}

export type TreeEntries = ReadonlyMap<string, TreeEntry>;

/** Trees that are kept parsed; a source reads its items folder by folder, so few are in use at a time. */
const TREES_MAX = 256;
const NONE: TreeEntries = new Map();

/** Kind of a tree entry by its mode. */
export function kindOfMode(mode: string): TreeEntry['kind'] {
  if (mode === '40000' || mode === '040000') return 'folder';
  if (mode === '120000') return 'link';
  return mode === '160000' ? 'submodule' : 'file';
}

/** A tree object: `<mode> <name>NUL<hash>` again and again; hashes have 20 bytes, or 32 in a SHA-256 repository. */
export function parseTree(content: Buffer, idBytes: number): TreeEntries {
  const entries = new Map<string, TreeEntry>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const end = content.indexOf(0, space);
    if (space < 0 || end < 0) throw new Error('a tree object of the repository is damaged');
    const name = content.toString('latin1', space + 1, end);
    const id = content.toString('hex', end + 1, end + 1 + idBytes);
    entries.set(name, { name, kind: kindOfMode(content.toString('latin1', at, space)), id });
    at = end + 1 + idBytes;
  }
  return entries;
}

export class Trees {
  readonly #objects: ObjectReader;
  readonly #kept = new Map<string, TreeEntries>();

  constructor(objects: ObjectReader) {
    this.#objects = objects;
  }

  /** Entries of a tree. Throws where the repository does not have it. */
  async entries(id: string): Promise<TreeEntries> {
    const kept = this.#kept.get(id);
    if (kept !== undefined) {
      this.#kept.delete(id);
      this.#kept.set(id, kept);
      return kept;
    }
    const content = await this.#objects.content(id);
    if (content === undefined) throw new MissingObject(id);
    const entries = parseTree(content, id.length / 2);
    this.#kept.set(id, entries);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > TREES_MAX && oldest !== undefined) this.#kept.delete(oldest);
    return entries;
  }

  /** What lies at a raw path below a tree. */
  async find(root: string, raw: string): Promise<TreeEntry | undefined> {
    let tree = root;
    const names = raw.split('/');
    for (const [at, name] of names.entries()) {
      const entry = (await this.entries(tree)).get(name);
      if (entry === undefined || at === names.length - 1) return entry;
      if (entry.kind !== 'folder') return undefined;
      tree = entry.id;
    }
    return undefined;
  }

  /** Files that two trees do not have in common, by raw path: with a hash what the newer one holds, without it what is gone. */
  async *differences(
    older: string | undefined,
    newer: string | undefined,
    prefix = '',
  ): AsyncGenerator<{ raw: string; id?: string }> {
    if (older === newer) return;
    const before = older === undefined ? NONE : await this.entries(older);
    const after = newer === undefined ? NONE : await this.entries(newer);
    for (const entry of before.values()) {
      const other = after.get(entry.name);
      if (entry.kind === 'file' && other?.kind !== 'file') yield { raw: prefix + entry.name };
      if (entry.kind === 'folder' && other?.kind !== 'folder')
        yield* this.differences(entry.id, undefined, `${prefix}${entry.name}/`);
    }
    for (const entry of after.values()) {
      const other = before.get(entry.name);
      if (entry.kind === 'file' && (other?.kind !== 'file' || other.id !== entry.id))
        yield { raw: prefix + entry.name, id: entry.id };
      if (entry.kind === 'folder')
        yield* this.differences(other?.kind === 'folder' ? other.id : undefined, entry.id, `${prefix}${entry.name}/`);
    }
  }
}

/** The repository does not have an object that it names: a shallow or damaged copy, or one that was cleaned meanwhile. */
export class MissingObject extends Error {
  override readonly name = 'MissingObject';

  constructor(id: string) {
    super(`the repository does not have the object ${id}`);
  }
}

/** One line of `git ls-tree -r -l -z`: `<mode> <type> <hash> <size>TAB<name>`. */
export interface ListedEntry extends TreeEntry {
  readonly raw: string;
  readonly key: string;
  readonly sizeBytes: number;
}

export function parseListed(record: string, prefix: string): ListedEntry {
  const tab = record.indexOf('\t');
  const [mode = '', , id = '', size = ''] = record.slice(0, tab).split(/ +/);
  const raw = prefix + record.slice(tab + 1);
  return {
    name: raw.slice(raw.lastIndexOf('/') + 1),
    raw,
    key: keyOf(raw),
    kind: kindOfMode(mode),
    id,
    sizeBytes: Number(size) || 0,
  };
}
