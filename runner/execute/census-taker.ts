// Tells how many items the state holds, while commits change that.
//   N1. What is told was counted in the state; nothing is summed up here, so that neither a restart nor another runner makes it wrong.
//   N2. Counting takes at most a hundredth of the time, and comes every EVERY_MS at the most.
//   N3. After the last commit one more count follows; one that equals the one before is not told. One that fails is made up for after the
//       next commit.
import type { Clock } from '../clock.ts';
import type { Census } from '../protocol/index.ts';

const EVERY_MS = 2_500;
/** Time between counts, as a multiple of what the last one took. */
const SHARE = 100;

export class CensusTaker {
  readonly #count: () => Promise<Census>;
  readonly #clock: Clock;
  readonly #tell: (census: Census) => void;
  #told = '';
  #tookMs = 0;
  #phase: 'resting' | 'waiting' | 'counting' | 'outdated' = 'resting';

  constructor(count: () => Promise<Census>, clock: Clock, tell: (census: Census) => void) {
    this.#count = count;
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Something was committed, or nobody was told yet. */
  changed(): void {
    if (this.#phase === 'counting') this.#phase = 'outdated';
    if (this.#phase === 'resting') this.#wait();
  }

  #wait(): void {
    this.#phase = 'waiting';
    this.#clock.after(Math.max(EVERY_MS, this.#tookMs * SHARE), () => void this.#take());
  }

  async #take(): Promise<void> {
    this.#phase = 'counting';
    const startedMs = this.#clock.nowMs();
    const census = await this.#count().catch(() => undefined);
    this.#tookMs = this.#clock.nowMs() - startedMs;
    if (census !== undefined) this.#tellNews(census);
    if ((this.#phase as string) === 'outdated') this.#wait();
    else this.#phase = 'resting';
  }

  #tellNews(census: Census): void {
    const text = JSON.stringify(census.sources);
    if (text === this.#told) return;
    this.#told = text;
    this.#tell(census);
  }
}
