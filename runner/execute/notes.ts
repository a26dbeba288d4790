// Facts about items that are no errors, for people: the first few of each source, and how many more there were.
import type { Item } from '../sdk/index.ts';
import type { Hide } from '../secrets.ts';

const NOTES_MAX = 20;

interface Noted {
  readonly texts: string[];
  more: number;
}

export class Notes {
  readonly #hide: Hide;
  readonly #bySource = new Map<string, Noted>();

  constructor(hide: Hide) {
    this.#hide = hide;
  }

  add({ source, key }: Item, text: string): void {
    const noted = this.#bySource.get(source) ?? { texts: [], more: 0 };
    this.#bySource.set(source, noted);
    if (noted.texts.length < NOTES_MAX) noted.texts.push(`${key}: ${this.#hide(text)}`);
    else noted.more += 1;
  }

  /** Those of a source; it has none afterwards. */
  take(source: string): readonly string[] {
    const { texts, more } = this.#bySource.get(source) ?? { texts: [], more: 0 };
    this.#bySource.delete(source);
    return more === 0 ? texts : [...texts, `${more} more notes`];
  }
}
