// The state store as the simulation needs it: work that must be done, and commits under fencing tokens.
import { compareTokens, type FencingToken } from '../../runner/protocol/index.ts';

export type CommitAnswer = 'committed' | 'fenced' | 'fenced-by-epoch';

export class Store {
  /** Items of each source that are to be done, with the version that is wanted. */
  readonly wanted = new Map<string, Map<string, number>>();
  /** Newest commit of each component. */
  readonly #commits = new Map<string, { readonly token: FencingToken; readonly version: number }>();
  /** Which update wants an item, and in which version. */
  readonly #entries = new Map<string, { readonly version: number; readonly update: string }>();
  /** Whether an item that an open update wants already in the same version is left to that one; else both mount it, and one follows the other (A9). */
  keepsWorkList = false;
  epoch = 0;
  commits = 0;
  fenced = 0;

  want(source: string, key: string): void {
    const items = this.wanted.get(source) ?? new Map<string, number>();
    items.set(key, (items.get(key) ?? 0) + 1);
    this.wanted.set(source, items);
  }

  /** Keys whose wanted version has not been committed. */
  missing(source: string): string[] {
    const items = [...(this.wanted.get(source) ?? [])];
    return items.filter(([key, version]) => !this.isDone(`${source}/${key}`, version)).map(([key]) => key);
  }

  /** What an update is to do: all that is missing, but for what other open updates do. */
  enter(source: string, update: string, openUpdates: readonly string[]): string[] {
    if (!this.keepsWorkList) return this.missing(source);
    return this.missing(source).filter((key) => {
      const path = `${source}/${key}`;
      const version = this.version(source, key);
      const known = this.#entries.get(path);
      const isOthers = known?.version === version && known.update !== update && openUpdates.includes(known.update);
      if (!isOthers) this.#entries.set(path, { version, update });
      return !isOthers;
    });
  }

  version(source: string, key: string): number {
    return this.wanted.get(source)?.get(key) ?? 0;
  }

  isDone(path: string, version: number): boolean {
    return (this.#commits.get(path)?.version ?? 0) >= version;
  }

  commit(path: string, version: number, token: FencingToken): CommitAnswer {
    const known = this.#commits.get(path);
    if (token.epoch < this.epoch || (known !== undefined && compareTokens(token, known.token) < 0)) {
      this.fenced++;
      return known !== undefined && compareTokens(token, known.token) < 0 ? 'fenced' : 'fenced-by-epoch';
    }
    this.epoch = Math.max(this.epoch, token.epoch);
    this.#commits.set(path, { token, version: Math.max(version, known?.version ?? 0) });
    this.commits++;
    return 'committed';
  }
}
