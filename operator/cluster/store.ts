// What a reflector knows: the objects of one kind, by key, with indexes. Objects are never changed in place.
import { type KubeObject, objectKey } from './objects.ts';

/** Names the index values of an object, such as its owner's uid. */
export type Indexer<T> = (object: T) => readonly string[];

export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexers: Readonly<Record<string, Indexer<T>>>;
  readonly #indexes = new Map<string, Map<string, Set<string>>>();

  constructor(indexers: Readonly<Record<string, Indexer<T>>> = {}) {
    this.#indexers = indexers;
    for (const name of Object.keys(indexers)) this.#indexes.set(name, new Map());
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** Objects with an index value, ordered by key. */
  byIndex(index: string, value: string): T[] {
    const keys = this.#indexes.get(index)?.get(value);
    return keys === undefined ? [] : [...keys].sort().map((key) => this.#objects.get(key)!);
  }

  set(object: T): T | undefined {
    const key = objectKey(object.metadata);
    const old = this.#objects.get(key);
    if (old !== undefined) this.#unindex(key, old);
    this.#objects.set(key, object);
    this.#eachIndex(object, (values, value) => {
      const keys = values.get(value);
      if (keys === undefined) values.set(value, new Set([key]));
      else keys.add(key);
    });
    return old;
  }

  delete(key: string): T | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#unindex(key, old);
    this.#objects.delete(key);
    return old;
  }

  #unindex(key: string, object: T): void {
    this.#eachIndex(object, (values, value) => {
      const keys = values.get(value);
      keys?.delete(key);
      if (keys?.size === 0) values.delete(value);
    });
  }

  #eachIndex(object: T, visit: (values: Map<string, Set<string>>, value: string) => void): void {
    for (const [name, values] of this.#indexes) for (const value of this.#indexers[name]!(object)) visit(values, value);
  }
}
