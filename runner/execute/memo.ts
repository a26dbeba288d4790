// The memo of one run: what its functions computed or found.
//
//   M1. A vector is stored once: the memo in the state holds only what no committed row holds (F15).
//   M2. Results of an attempt that did not commit are kept by age, so that the next attempt does not compute them again (F34).
//   M3. Vectors of rows that go are kept by age, so that a branch that is switched back costs no call (F4).
//   M4. A full reprocess finds only what it computed itself.
import type { Batcher } from './batch.ts';
import type { Memo, MemoChange, MemoEntry, Target } from './ports.ts';

/** Where runs look for results of others. */
export interface MemoSources {
  /** One entry of the state's memo, gathered over runs. */
  readonly entries: Batcher<string, Uint8Array | undefined>;
  /** Targets whose rows hold vectors. */
  readonly targets: readonly Target[];
}

export class RunMemo implements Memo {
  readonly #sources: MemoSources;
  readonly #isReprocess: boolean;
  readonly #known = new Map<string, Uint8Array>();
  /** Keys that this run computed, and keys that it found in the state's memo. */
  readonly #computed = new Set<string>();
  readonly #found = new Set<string>();

  constructor(sources: MemoSources, isReprocess: boolean) {
    this.#sources = sources;
    this.#isReprocess = isReprocess;
  }

  async get(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    if (!this.#isReprocess) await this.#look([...new Set(keys)].filter((key) => !this.#known.has(key)));
    return keys.map((key) => this.#known.get(key));
  }

  put(entries: readonly MemoEntry[]): void {
    for (const { key, value } of entries) {
      this.#known.set(key, value);
      this.#computed.add(key);
    }
  }

  /** What an attempt that does not commit leaves behind (M2). */
  partial(): MemoEntry[] {
    return this.#entries(this.#computed);
  }

  /** What the commit does to the state's memo; undefined: nothing. `held`: vector keys that rows hold from then on. */
  change(held: ReadonlySet<string>, retire: readonly MemoEntry[], wasMemoised: boolean): MemoChange | undefined {
    if (!wasMemoised && retire.length === 0 && this.#known.size === 0) return undefined;
    const put = this.#entries(this.#computed).filter(({ key }) => !held.has(key));
    const uses = [...this.#found].filter((key) => !held.has(key) && !this.#computed.has(key));
    const drop = [...this.#found].filter((key) => held.has(key));
    if (!wasMemoised && put.length + uses.length + drop.length + retire.length === 0) return undefined;
    return { put, uses, drop, retire };
  }

  #entries(keys: ReadonlySet<string>): MemoEntry[] {
    return [...keys].map((key) => ({ key, value: this.#known.get(key) ?? new Uint8Array() }));
  }

  async #look(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const entries = await Promise.all(keys.map((key) => this.#sources.entries.ask(key)));
    const missing: string[] = [];
    keys.forEach((key, index) => {
      const value = entries[index];
      if (value === undefined) missing.push(key);
      else {
        this.#known.set(key, value);
        this.#found.add(key);
      }
    });
    for (const { key, value } of await vectorsIn(this.#sources.targets, missing)) this.#known.set(key, value);
  }
}

/** Vectors that rows of the targets hold. */
export async function vectorsIn(targets: readonly Target[], keys: readonly string[]): Promise<MemoEntry[]> {
  const found: MemoEntry[] = [];
  let missing = keys;
  for (const target of targets) {
    if (missing.length === 0) break;
    const vectors = await target.vectors(missing);
    for (const [key, { buffer, byteOffset, byteLength }] of vectors) {
      found.push({ key, value: new Uint8Array(buffer, byteOffset, byteLength) });
    }
    missing = missing.filter((key) => !vectors.has(key));
  }
  return found;
}
