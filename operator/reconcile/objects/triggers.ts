// Trigger annotations: a value that was not handled yet is a wish; what was handled is echoed in status.
//   T1. A value is acted on once: it counts as handled from the moment it was acted on, before the status says so.
//   T2. What an earlier operator handled stands in status; a value that it acted on without writing so is acted on once more.
import { ANNOTATIONS, type TriggerName } from '../../../crds/schema/index.ts';
import { keyOf, type StoredObject } from '../ports.ts';

export type Handled = Partial<Record<TriggerName, string>>;

/** Values are echoed up to this length; longer ones are told apart by it. */
const VALUE_MAX = 253;

export class TriggerDesk {
  readonly #handled = new Map<string, { readonly uid: string | undefined; readonly values: Handled }>();

  /** Wishes of an object that nobody acted on yet; they count as handled now (T1). */
  take(object: StoredObject): TriggerName[] {
    const { annotations = {} } = object.metadata;
    const values = this.#valuesOf(object);
    const wishes: TriggerName[] = [];
    for (const name of Object.keys(ANNOTATIONS) as TriggerName[]) {
      const value = annotations[ANNOTATIONS[name]]?.slice(0, VALUE_MAX);
      if (value === undefined || value === values[name]) continue;
      values[name] = value;
      wishes.push(name);
    }
    return wishes;
  }

  handled(object: StoredObject): Handled {
    return { ...this.#valuesOf(object) };
  }

  forget(key: string): void {
    this.#handled.delete(key);
  }

  #valuesOf(object: StoredObject): Handled {
    const key = keyOf(object);
    const { uid } = object.metadata;
    const known = this.#handled.get(key);
    if (known !== undefined && known.uid === uid) return known.values;
    const { handled = {} } = (object.status ?? {}) as { handled?: Handled };
    const values = { ...handled }; // T2
    this.#handled.set(key, { uid, values });
    return values;
  }
}
