// Binary heaps whose members know their place, so that one can be moved or taken out in logarithmic time (A2).
// The functions work on whoever has `items` and an order, so that a lane can be a heap itself: decisions go through one object less.

/** A member carries its index: no map, no search. −1 while it is in no heap. */
export interface Placed {
  pos: number;
}

export interface Heap<T extends Placed> {
  readonly items: T[];
  /** Negative when `a` comes before `b`. */
  compare(a: T, b: T): number;
}

/** Where a change of keys can have moved a member; who knows it saves the comparisons of the other direction. */
export type Direction = -1 | 0 | 1;
export const EARLIER = -1;
export const EITHER = 0;
export const LATER = 1;

export function push<T extends Placed>(heap: Heap<T>, item: T): void {
  rise(heap, item, heap.items.length);
}

export function remove<T extends Placed>(heap: Heap<T>, item: T): void {
  const { pos } = item;
  const last = heap.items.pop() as T;
  if (last !== item) {
    last.pos = pos;
    move(heap, last, EITHER);
  }
  item.pos = -1;
}

/** Puts a member whose keys changed where it belongs now. */
export function move<T extends Placed>(heap: Heap<T>, item: T, direction: Direction): void {
  const { pos } = item;
  if (direction !== LATER && pos > 0 && heap.compare(item, heap.items[(pos - 1) >> 1] as T) < 0) rise(heap, item, pos);
  else if (direction !== EARLIER) sink(heap, item, pos);
}

function rise<T extends Placed>(heap: Heap<T>, item: T, from: number): void {
  const { items } = heap;
  let pos = from;
  while (pos > 0) {
    const parentPos = (pos - 1) >> 1;
    const parent = items[parentPos] as T;
    if (heap.compare(item, parent) >= 0) break;
    items[pos] = parent;
    parent.pos = pos;
    pos = parentPos;
  }
  items[pos] = item;
  item.pos = pos;
}

function sink<T extends Placed>(heap: Heap<T>, item: T, from: number): void {
  const { items } = heap;
  const { length } = items;
  let pos = from;
  for (let child = 2 * pos + 1; child < length; child = 2 * pos + 1) {
    if (child + 1 < length && heap.compare(items[child + 1] as T, items[child] as T) < 0) child++;
    const least = items[child] as T;
    if (heap.compare(item, least) <= 0) break;
    items[pos] = least;
    least.pos = pos;
    pos = child;
  }
  items[pos] = item;
  item.pos = pos;
}
