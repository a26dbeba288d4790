// Virtual time: what is to happen, in the order of time; things of one instant in the order in which they were scheduled.

interface Entry<E> {
  readonly atMs: number;
  readonly order: number;
  readonly event: E;
}

const isBefore = <E>(a: Entry<E>, b: Entry<E>) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

export class Timeline<E> {
  readonly #heap: Entry<E>[] = [];
  #order = 0;

  schedule(atMs: number, event: E): void {
    const heap = this.#heap;
    const entry = { atMs, order: this.#order++, event };
    let at = heap.push(entry) - 1;
    for (let up = (at - 1) >> 1; at > 0 && isBefore(entry, heap[up]!); up = (at - 1) >> 1) {
      heap[at] = heap[up]!;
      at = up;
    }
    heap[at] = entry;
  }

  /** Takes the next thing to happen; undefined: nothing is left. */
  next(): { readonly atMs: number; readonly event: E } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
