// Facts for people that are no errors, gathered while a source works.

/** More distinct notes than this are counted, not kept. */
export const NOTES_MAX = 50;

export class NoteBook {
  readonly #notes = new Set<string>();
  #left = 0;

  /** Adds a note; the same note twice is one. */
  add(note: string): void {
    if (this.#notes.has(note)) return;
    if (this.#notes.size < NOTES_MAX) this.#notes.add(note);
    else this.#left++;
  }

  addAll(notes: readonly string[]): void {
    for (const note of notes) this.add(note);
  }

  /** The notes since the last call, a count of those that were not kept at the end. */
  take(): string[] {
    const notes = [...this.#notes];
    if (this.#left > 0) notes.push(`and ${this.#left} more notes`);
    this.#notes.clear();
    this.#left = 0;
    return notes;
  }
}
