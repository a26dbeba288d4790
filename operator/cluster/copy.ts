// The local copy of one kind of object: takes in what a list or a watch says, and tells what changed.
//
//   R1. A watch never takes an object back to an older version. A list does not either, unless the server itself went back: it is
//       a quorum read, so it is the truth.
//   R2. A relist is compared with what is there: what did not change is not told, what is missing is told as removed.
//   R5. An object that was deleted and created again under one name is told as removed, then added.
//   R6. Handlers are called one at a time and only enqueue; one that throws does not stop the reflector.
import { compareVersions, type KubeObject, objectKey } from './objects.ts';
import { type Indexer, ObjectStore } from './store.ts';

/** A change of the local copy. `finalStateUnknown`: the removal was found by a relist, so the last state may be an older one. */
export type Change<T> =
  | { readonly kind: 'added'; readonly object: T; readonly isInitial: boolean }
  | { readonly kind: 'updated'; readonly object: T; readonly old: T }
  | { readonly kind: 'removed'; readonly old: T; readonly finalStateUnknown: boolean };

export interface CopyOptions<T extends KubeObject> {
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  /** What is kept of an object; undefined: nothing, as if it were not there. Absent: all but what only the server needs. */
  readonly keep?: (object: T) => T | undefined;
  readonly onChange: (change: Change<T>) => void;
  readonly handlerFailed: (error: unknown) => void;
}

export class LocalCopy<T extends KubeObject> {
  readonly store: ObjectStore<T>;
  readonly #options: CopyOptions<T>;
  #isInitial = true;

  constructor(options: CopyOptions<T>) {
    this.#options = options;
    this.store = new ObjectStore<T>(options.indexers);
  }

  /** What is to be kept of an object that a list gave: pages are collected, so nothing more is held on to. */
  kept(object: T): T | undefined {
    const trimmed = trim(object);
    const { keep } = this.#options;
    return keep === undefined ? trimmed : keep(trimmed);
  }

  /** Makes the copy equal to a whole list of `kept` objects; answers how many differed (R2). */
  replace(objects: readonly T[]): number {
    let changes = 0;
    const seen = new Set<string>();
    for (const object of objects) {
      seen.add(objectKey(object.metadata));
      if (this.#upsert(object, 'list')) changes++;
    }
    for (const key of [...this.store.keys()]) {
      if (seen.has(key)) continue;
      this.#remove(key, undefined, true);
      changes++;
    }
    this.#isInitial = false;
    return changes;
  }

  /** A watch saw this object come or change. */
  saw(object: T): void {
    const kept = this.kept(object);
    if (kept === undefined) this.#remove(objectKey(object.metadata), undefined, false);
    else this.#upsert(kept, 'watch');
  }

  /** A watch saw this object go. */
  sawEnd(object: T): void {
    this.#remove(objectKey(object.metadata), trim(object), false);
  }

  #upsert(object: T, from: 'list' | 'watch'): boolean {
    const key = objectKey(object.metadata);
    const known = this.store.get(key);
    if (known !== undefined && known.metadata.uid !== object.metadata.uid)
      this.#remove(key, undefined, true); // R5
    else if (known !== undefined && !isNews(object, known, from)) return false; // R1, R2
    const old = this.store.set(object);
    const isInitial = this.#isInitial;
    this.#tell(old === undefined ? { kind: 'added', object, isInitial } : { kind: 'updated', object, old });
    return true;
  }

  #remove(key: string, last: T | undefined, finalStateUnknown: boolean): void {
    const known = this.store.get(key);
    if (known === undefined || (last !== undefined && last.metadata.uid !== known.metadata.uid)) return;
    this.store.delete(key);
    this.#tell({ kind: 'removed', old: last ?? known, finalStateUnknown });
  }

  #tell(change: Change<T>): void {
    try {
      this.#options.onChange(change);
    } catch (error) {
      this.#options.handlerFailed(error); // R6
    }
  }
}

function isNews(object: KubeObject, known: KubeObject, from: 'list' | 'watch'): boolean {
  const order = compareVersions(object.metadata.resourceVersion ?? '', known.metadata.resourceVersion ?? '');
  return from === 'list' ? order !== 0 : order > 0;
}

/** Drops what only the server needs: a quarter of the memory of a typical object. */
function trim<T extends KubeObject>(object: T): T {
  const { managedFields: _, annotations, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown };
  const { 'kubectl.kubernetes.io/last-applied-configuration': __, ...kept } = annotations ?? {};
  return { ...object, metadata: { ...metadata, ...(annotations && { annotations: kept }) } };
}
