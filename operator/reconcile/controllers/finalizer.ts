// The finalizer of both kinds: it stands before the first row can be written (F1) and goes when the rows are gone (F2), see drops.ts.
import { FINALIZER } from '../../../crds/schema/index.ts';
import { lookAgain, type Notes, type Outcome, SETTLED, type StoredObject, type Writes } from '../ports.ts';

/** After a write that met another one: the cache lags a moment behind it. */
const CONFLICT_MS = 200;

export const isHeld = ({ metadata: { finalizers = [] } }: StoredObject): boolean => finalizers.includes(FINALIZER);

/** F1. Undefined: it stands. Else it was asked for, and what the reconcile comes to: its own event brings the object back. */
export async function hold(writes: Writes, object: StoredObject, signal: AbortSignal): Promise<Outcome | undefined> {
  if (isHeld(object)) return undefined;
  const { finalizers = [] } = object.metadata;
  const result = await writes.setFinalizers(object, [...finalizers, FINALIZER], signal);
  return result === 'conflict' ? lookAgain(CONFLICT_MS) : SETTLED;
}

/** F2. */
export async function letGo(writes: Writes, object: StoredObject, signal: AbortSignal): Promise<Outcome> {
  const { finalizers = [] } = object.metadata;
  const left = finalizers.filter((name) => name !== FINALIZER);
  const result = await writes.setFinalizers(object, left, signal);
  return result === 'conflict' ? lookAgain(CONFLICT_MS) : SETTLED;
}

/** F2, for an object whose rows stay where they are. */
export function noteStuck(notes: Notes, object: StoredObject, message: string): void {
  const note = `Rows were left behind: ${message}. Remove them by hand, or make the object again and delete it.`;
  notes.record(object, { type: 'Warning', reason: 'DeletionStuck', action: 'Delete', note });
}
