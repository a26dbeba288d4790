// Marks the work of runs that have been executing for long, so that a process that dies over an item leaves a trace of which one it was
// (F7). Short runs are never marked: they cost the state nothing.
import type { CancelTimer } from '../clock.ts';
import type { Services } from './services.ts';

const LONG_MS = 1_000;

interface Entry {
  readonly source: string;
  readonly key: string;
  readonly update: string;
}

export class Endurance {
  readonly #services: Pick<Services, 'state' | 'clock'>;
  /** In order of their beginning. */
  readonly #running = new Map<Entry, number>();
  #stop: CancelTimer | undefined;

  constructor(services: Pick<Services, 'state' | 'clock'>) {
    this.#services = services;
  }

  /** Answers what is to be called when the run ends. */
  began(entry: Entry): () => void {
    this.#running.set(entry, this.#services.clock.nowMs());
    this.#stop ??= this.#services.clock.after(LONG_MS, () => this.#mark());
    return () => {
      this.#running.delete(entry);
      if (this.#running.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    };
  }

  #mark(): void {
    const nowMs = this.#services.clock.nowMs();
    const long: Entry[] = [];
    let oldest: number | undefined;
    for (const [entry, sinceMs] of this.#running) {
      if (nowMs - sinceMs < LONG_MS) {
        oldest = sinceMs;
        break;
      }
      long.push(entry);
      this.#running.delete(entry);
    }
    // A mark that cannot be written costs a later death one count, nothing else.
    if (long.length > 0) void this.#services.state.startWork(long).catch(() => {});
    this.#stop =
      oldest === undefined ? undefined : this.#services.clock.after(LONG_MS - (nowMs - oldest), () => this.#mark());
  }
}
