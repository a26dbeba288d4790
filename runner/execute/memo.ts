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

interface Results {
  readonly known: Map<string, Uint8Array>;
  /** Keys that this run computed, and keys that it found in the state's memo. */
  readonly computed: Set<string>;
  readonly found: Set<string>;
}

export class RunMemo implements Memo {
  readonly #sources: MemoSources;
  readonly #isReprocess: boolean;
  /** Made with the first look; most runs of some Pipelines never look. */
  #results: Results | undefined;

  constructor(sources: MemoSources, isReprocess: boolean) {
    this.#sources = sources;
    this.#isReprocess = isReprocess;
  }

  async get(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { known } = this.#open();
    if (!this.#isReprocess) await this.#look([...new Set(keys)].filter((key) => !known.has(key)));
    return keys.map((key) => known.get(key));
  }

  put(entries: readonly MemoEntry[]): void {
    const { known, computed } = this.#open();
    for (const { key, value } of entries) {
      known.set(key, value);
      computed.add(key);
    }
  }

  /** What an attempt that does not commit leaves behind (M2). */
  partial(): MemoEntry[] {
    return this.#results === undefined ? [] : entriesOf(this.#results);
  }

  /** What the commit does to the state's memo; undefined: nothing. `held`: vector keys that rows hold from then on. */
  change(held: ReadonlySet<string>, retire: readonly MemoEntry[], wasMemoised: boolean): MemoChange | undefined {
    const results = this.#results;
    if (results === undefined)
      return wasMemoised || retire.length > 0 ? { put: [], uses: [], drop: [], retire } : undefined;
    const { computed, found } = results;
    const put = entriesOf(results).filter(({ key }) => !held.has(key));
    const uses = [...found].filter((key) => !held.has(key) && !computed.has(key));
    const drop = [...found].filter((key) => held.has(key));
    if (!wasMemoised && put.length + uses.length + drop.length + retire.length === 0) return undefined;
    return { put, uses, drop, retire };
  }

  #open(): Results {
    this.#results ??= { known: new Map(), computed: new Set(), found: new Set() };
    return this.#results;
  }

  async #look(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const { known, found } = this.#open();
    const entries = await Promise.all(keys.map((key) => this.#sources.entries.ask(key)));
    const missing: string[] = [];
    keys.forEach((key, index) => {
      const value = entries[index];
      if (value === undefined) missing.push(key);
      else {
        known.set(key, value);
        found.add(key);
      }
    });
    for (const { key, value } of await vectorsIn(this.#sources.targets, missing)) known.set(key, value);
  }
}

/** What the run computed. */
function entriesOf({ known, computed }: Results): MemoEntry[] {
  return [...computed].map((key) => ({ key, value: known.get(key) ?? new Uint8Array() }));
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
