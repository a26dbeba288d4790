// What an update's root run counts, and how it tells: a few times a second, and at once when the listing ended.
import type { Clock } from '../clock.ts';
import type { Counts, RunNumber, RunOutcome, UpdateProgress, Uplink } from '../protocol/index.ts';

const PROGRESS_EVERY_MS = 250;

export class Tally {
  readonly #run: RunNumber;
  readonly #uplink: Uplink;
  readonly #clock: Clock;
  readonly #counts = { unchanged: 0, added: 0, reprocessed: 0, deleted: 0, failed: 0, superseded: 0 };
  #total = 0;
  #done = 0;
  #listed = false;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(run: RunNumber, uplink: Uplink, clock: Clock) {
    this.#run = run;
    this.#uplink = uplink;
    this.#clock = clock;
  }

  get counts(): Counts {
    return { ...this.#counts };
  }

  get listed(): boolean {
    return this.#listed;
  }

  count(name: keyof Counts, items = 1): void {
    this.#counts[name] += items;
    this.#tellSometimes();
  }

  /** Items that must be done. */
  expect(items: number): void {
    this.#total += items;
  }

  /** One mounted item ended. */
  ended(outcome: RunOutcome): void {
    this.#done += 1;
    this.#add(outcome);
    this.#tellSometimes();
  }

  /** Work that another update took over before it was mounted. */
  closeWith(mounted: number): void {
    this.#counts.superseded += Math.max(0, this.#total - mounted);
  }

  listingEnded(): void {
    this.#listed = true;
    this.#tell();
  }

  #add(outcome: RunOutcome): void {
    if (outcome.kind === 'superseded') this.#counts.superseded += 1;
    else if (outcome.kind === 'cancelled') this.#counts.failed += 1;
    else if (outcome.kind !== 'parked') {
      const sum = this.#counts;
      const { unchanged, added, reprocessed, deleted, failed, superseded } = outcome.counts;
      sum.unchanged += unchanged;
      sum.added += added;
      sum.reprocessed += reprocessed;
      sum.deleted += deleted;
      sum.failed += failed;
      sum.superseded += superseded;
    }
  }

  #tellSometimes(): void {
    if (this.#clock.nowMs() - this.#toldAtMs >= PROGRESS_EVERY_MS) this.#tell();
  }

  #tell(): void {
    this.#toldAtMs = this.#clock.nowMs();
    this.#uplink.progress(this.#run, this.#progress());
  }

  #progress(): UpdateProgress {
    const total = Math.max(this.#total, this.#done);
    return { listed: this.#listed, total, done: this.#done, counts: this.counts };
  }
}
