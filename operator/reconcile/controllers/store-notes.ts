// Events about the state store and the targets of a Pipeline: one when what runs commit is not taken any more, one when it is again.
import type { StoreTrouble } from '../../host/index.ts';
import { type EventNote, keyOf, type Notes, type StoredObject } from '../ports.ts';

const WHAT: Readonly<Record<StoreTrouble['reason'], string>> = {
  TargetUnreachable: 'A target does not take what runs commit',
  StateUnreachable: 'The state store does not take what runs commit',
};

export class StoreNotes {
  readonly #notes: Notes;
  /** Trouble that was told, by Pipeline. */
  readonly #told = new Map<string, StoreTrouble['reason']>();

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** How the stores stand now. */
  look(object: StoredObject, trouble: StoreTrouble | undefined): void {
    const key = keyOf(object);
    if (this.#told.get(key) === trouble?.reason) return;
    this.#notes.record(object, trouble === undefined ? TAKEN : notTaken(trouble));
    if (trouble === undefined) this.#told.delete(key);
    else this.#told.set(key, trouble.reason);
  }

  forget(key: string): void {
    this.#told.delete(key);
  }
}

const TAKEN: EventNote = {
  type: 'Normal',
  reason: 'StoresReachable',
  action: 'Commit',
  note: 'What runs commit is taken again.',
};

const notTaken = ({ reason, message }: StoreTrouble): EventNote => ({
  type: 'Warning',
  reason,
  action: 'Commit',
  note: `${WHAT[reason]}: ${message}. Runs are tried again with growing pauses.`,
});
