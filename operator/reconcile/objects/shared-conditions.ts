// Conditions of ten thousand objects, of which nearly all say the same since the same seconds: one object stands for all that are equal. Without
// that they are a fifth of what an operator keeps of a LiveSource.

/** So many different ones are remembered; then it begins anew, and those that are held on to stay as they are. */
const KNOWN_MAX = 4_096;

export class SharedConditions {
  readonly #known = new Map<string, object>();

  /** Equal conditions, not to be changed. */
  of<T extends object>(conditions: readonly T[]): readonly T[] {
    return conditions.map((condition) => this.#one(condition));
  }

  #one<T extends object>(condition: T): T {
    const key = JSON.stringify(condition);
    const known = this.#known.get(key);
    if (known !== undefined) return known as T;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(key, condition);
    return condition;
  }
}
