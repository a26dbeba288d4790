// A binary heap whose members know their place, so that one can be moved or taken out in logarithmic time (A2).

/** A member carries its index itself: no map, no search. −1 while it is in no heap. */
export interface Placed {
  pos: number;
}

export class Heap<T extends Placed> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  /** All members in no particular order. */
  get items(): readonly T[] {
    return this.#items;
  }

  push(item: T): void {
    this.#rise(item, this.#items.length);
  }

  remove(item: T): void {
    const { pos } = item;
    const last = this.#items.pop() as T;
    if (last !== item) {
      last.pos = pos;
      this.#items[pos] = last;
      this.moved(last);
    }
    item.pos = -1;
  }

  /** Puts a member whose keys changed where it belongs now. */
  moved(item: T): void {
    const { pos } = item;
    if (pos > 0 && this.#compare(item, this.#items[(pos - 1) >> 1] as T) < 0) this.#rise(item, pos);
    else this.#sink(item, pos);
  }

  #rise(item: T, from: number): void {
    const items = this.#items;
    let pos = from;
    while (pos > 0) {
      const parent = items[(pos - 1) >> 1] as T;
      if (this.#compare(item, parent) >= 0) break;
      items[pos] = parent;
      parent.pos = pos;
      pos = (pos - 1) >> 1;
    }
    items[pos] = item;
    item.pos = pos;
  }

  #sink(item: T, from: number): void {
    const items = this.#items;
    const half = items.length >> 1;
    let pos = from;
    while (pos < half) {
      let child = 2 * pos + 1;
      const right = child + 1;
      if (right < items.length && this.#compare(items[right] as T, items[child] as T) < 0) child = right;
      const least = items[child] as T;
      if (this.#compare(item, least) <= 0) break;
      items[pos] = least;
      least.pos = pos;
      pos = child;
    }
    items[pos] = item;
    item.pos = pos;
  }
}
