// How far sources are and how fast they go, in words.
import { Rate } from './rate.ts';
import { durationText, type EndedUpdate, type SourceState } from './report.ts';

/** `1,200 of ~5,000`; the tilde stands while the listing is open. */
export function amountText({ progress }: SourceState): string {
  const total = `${progress.listed ? '' : '~'}${progress.total.toLocaleString('en')}`;
  return `${progress.done.toLocaleString('en')} of ${total}`;
}

/** Rates of sources, as they were seen lately. */
export class Paces {
  readonly #rates = new Map<string, Rate>();

  /** Takes what is done by now into account; answers `412/s` and `9.0 s left`, as far as known. */
  seen({ source, progress }: SourceState, nowMs: number): string[] {
    const rate = this.#rates.get(source) ?? new Rate();
    this.#rates.set(source, rate);
    rate.add(nowMs, progress.done);
    const perSecond = rate.perSecond();
    const leftMs = progress.listed ? rate.leftMs(progress.total - progress.done) : undefined;
    const speed = perSecond === undefined ? [] : [`${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`];
    return leftMs === undefined ? speed : [...speed, `${durationText(leftMs)} left`];
  }

  /** The next update of the source begins anew. */
  ended({ source, kind }: EndedUpdate): void {
    if (source !== undefined && kind !== 'key') this.#rates.delete(source);
  }
}
