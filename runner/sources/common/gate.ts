// Bounds how many things happen at once, first come, first served (F32: open files and connections are bounded).

export class Gate {
  readonly #max: number;
  #inside = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Runs `body` once there is room. A wait that the signal ends rejects with its reason and takes no room. */
  async run<T>(signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await body();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#inside < this.#max) {
      this.#inside++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(signal.reason);
      };
      this.#waiting.push(admit);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Room passes straight to the next in line, so nobody overtakes. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside--;
    else next();
  }
}
