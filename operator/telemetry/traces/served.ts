// Which runs were served while another waited: the last grants of one Pipeline, by whom they went to.
//   S1. Bounded: the last GRANTS_MAX grants. A wait that began before the oldest of them gets "at least" numbers.
//   S2. A grant costs two writes; counting is for the few waits that are shown, and looks at so many grants as is asked for.
export const GRANTS_MAX = 8_192;

export interface Served {
  /** Grants by receiver, most first. */
  readonly by: readonly { readonly name: string; readonly grants: number }[];
  readonly total: number;
  /** False: it waited through more grants than were looked at. */
  readonly isWhole: boolean;
}

export class ServedGrants {
  readonly #atMs = new Float64Array(GRANTS_MAX);
  readonly #names = new Array<string>(GRANTS_MAX).fill('');
  #count = 0;

  add(name: string, atMs: number): void {
    const place = this.#count % GRANTS_MAX;
    this.#atMs[place] = atMs;
    this.#names[place] = name;
    this.#count++;
  }

  /** Grants after `fromMs` and up to now, the last `most` of them; call it before the grant that ends the wait is added. */
  since(fromMs: number, toMs: number, most = GRANTS_MAX): Served {
    const oldest = Math.max(0, this.#count - Math.min(most, GRANTS_MAX));
    const counts = new Map<string, number>();
    let total = 0;
    let number = this.#count;
    while (number > oldest && this.#at(number - 1) >= fromMs) {
      number--;
      if (this.#at(number) > toMs) continue;
      const name = this.#names[number % GRANTS_MAX] ?? '';
      counts.set(name, (counts.get(name) ?? 0) + 1);
      total++;
    }
    const by = [...counts].map(([name, grants]) => ({ name, grants })).sort((a, b) => b.grants - a.grants);
    return { by, total, isWhole: number > oldest || oldest === 0 };
  }

  #at(number: number): number {
    return this.#atMs[number % GRANTS_MAX] ?? 0;
  }
}
