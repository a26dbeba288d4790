// The connection to the operator: its stream of pictures, and what the page says while there is none.
import type { Overview } from '../../api/index.ts';
import { el } from './dom.ts';
import { durationText } from './text.ts';

const SAID_EVERY_MS = 1_000;

export class Link {
  readonly #status: HTMLElement;
  readonly #banner: HTMLElement;
  #lostAtMs: number | undefined;

  /** `status`: a word in the header; `banner`: empty, shown only while the operator does not answer. */
  constructor(status: HTMLElement, banner: HTMLElement) {
    this.#status = status;
    this.#banner = banner;
    setInterval(() => this.#say(), SAID_EVERY_MS);
  }

  /** The browser connects again by itself. */
  follow(taken: (overview: Overview) => void): void {
    const events = new EventSource('/api/v1/events');
    events.addEventListener('overview', ({ data }: MessageEvent<string>) => {
      this.found();
      taken(JSON.parse(data) as Overview);
    });
    events.addEventListener('error', () => this.lost());
  }

  found(): void {
    this.#lostAtMs = undefined;
    this.#say();
  }

  lost(): void {
    this.#lostAtMs ??= Date.now();
    this.#say();
  }

  #say(): void {
    const isLost = this.#lostAtMs !== undefined;
    const word = isLost ? 'no connection' : 'live';
    if (this.#status.textContent !== word) this.#status.textContent = word;
    this.#status.className = isLost ? 'lost' : 'live';
    this.#banner.hidden = !isLost;
    document.body.classList.toggle('stale', isLost);
    if (this.#lostAtMs === undefined) return;
    const since = durationText(Math.max(1_000, Date.now() - this.#lostAtMs));
    const words = `The operator has not answered for ${since}; what you see is from before. Trying again.`;
    this.#banner.replaceChildren(el('p', {}, words));
  }
}
