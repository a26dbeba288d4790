// Memory of this process over time: its peak, and how much it grew.
const EVERY_MS = 50;

export class PeakMemory {
  readonly #beganBytes = process.memoryUsage().rss;
  #peakBytes = this.#beganBytes;
  readonly #sampler = setInterval(() => {
    this.#peakBytes = Math.max(this.#peakBytes, process.memoryUsage().rss);
  }, EVERY_MS);

  stop(): { readonly peakMib: number; readonly growthMib: number } {
    clearInterval(this.#sampler);
    const mib = (bytes: number): number => bytes / 2 ** 20;
    return { peakMib: mib(this.#peakBytes), growthMib: mib(this.#peakBytes - this.#beganBytes) };
  }
}
