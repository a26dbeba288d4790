// `fairlead top` on a terminal: which branch is chosen, what is open, in what order, and what is drawn of it.
import type { Overview } from '../../operator/api/index.ts';
import { branchIds, ratesBetween, SORT_KEYS, type SortKey, type TopOptions, topText } from './top-text.ts';

const HELP = 'arrows choose   o open/close   a all   s sort   q quit';

type Move = 1 | -1;

export class TopScreen {
  #sort: SortKey;
  /** Branches whose children are not shown. */
  readonly #closed = new Set<string>();
  #chosen: string | undefined;
  #now: Overview | undefined;
  #before: Overview | undefined;

  constructor(sort: SortKey) {
    this.#sort = sort;
  }

  show(overview: Overview): void {
    this.#before = this.#now;
    this.#now = overview;
  }

  /** Answers whether it was the key that ends. */
  press(key: string): boolean {
    if (key === 'q' || key === '\u0003') return true;
    if (key === '\u001b[A' || key === 'k') this.#move(-1);
    else if (key === '\u001b[B' || key === 'j') this.#move(1);
    else if (key === 's') this.#sort = SORT_KEYS[(SORT_KEYS.indexOf(this.#sort) + 1) % SORT_KEYS.length]!;
    else if (key === 'o' || key === '\r' || key === ' ') this.#toggle(this.#chosen);
    else if (key === 'a') this.#toggleAll();
    return false;
  }

  /** So many lines at the most; the chosen one is among them. */
  lines(height: number): string[] {
    if (this.#now === undefined) return [];
    const all = topText(this.#now, this.#options(this.#now)).trimEnd().split('\n');
    const room = Math.max(1, height - 1);
    const chosenAt = all.findIndex((line) => line.startsWith('>'));
    const from = Math.max(0, Math.min(chosenAt - Math.floor(room / 2), all.length - room));
    return [...all.slice(from, from + room), `sorted by ${this.#sort}   ${HELP}`];
  }

  #options(now: Overview): TopOptions {
    return {
      sort: this.#sort,
      isOpen: (id) => !this.#closed.has(id),
      ...(this.#chosen !== undefined && { chosen: this.#chosen }),
      ...(this.#before !== undefined && { rates: ratesBetween(this.#before, now) }),
    };
  }

  #move(by: Move): void {
    if (this.#now === undefined) return;
    const ids = branchIds(this.#now, this.#options(this.#now));
    const at = this.#chosen === undefined ? -1 : ids.indexOf(this.#chosen);
    const next = at < 0 ? 0 : Math.max(0, Math.min(ids.length - 1, at + by));
    this.#chosen = ids[next];
  }

  #toggle(id: string | undefined): void {
    if (id !== undefined && !this.#closed.delete(id)) this.#closed.add(id);
  }

  /** Closes the sources, or opens everything where some branch is closed. */
  #toggleAll(): void {
    if (this.#closed.size > 0 || this.#now === undefined) return this.#closed.clear();
    for (const id of branchIds(this.#now, { sort: this.#sort, isOpen: () => false })) this.#closed.add(id);
  }
}
