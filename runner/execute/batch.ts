// Gathers single requests of one turn of the event loop into one call.

/** When a batch leaves: after the code that runs now, or after all that the event loop has at hand. */
export type Gather = (flush: () => void) => void;

export const afterThisCode: Gather = (flush) => queueMicrotask(flush);
export const afterThisTurn: Gather = (flush) => {
  setImmediate(flush);
};

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** `call` gets at most `sizeMax` requests and answers them in order. A rejection reaches each of them. */
export class Batcher<Request, Answer> {
  readonly #call: (requests: readonly Request[]) => Promise<readonly Answer[]>;
  readonly #sizeMax: number;
  readonly #gather: Gather;
  #waiting: Waiting<Request, Answer>[] = [];

  constructor(
    call: (requests: readonly Request[]) => Promise<readonly Answer[]>,
    options: { readonly sizeMax: number; readonly gather: Gather },
  ) {
    this.#call = call;
    this.#sizeMax = options.sizeMax;
    this.#gather = options.gather;
  }

  ask(request: Request): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#waiting.length === 0) this.#gather(() => this.#flush());
      this.#waiting.push({ request, resolve, reject });
    });
  }

  #flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < all.length; at += this.#sizeMax) void this.#send(all.slice(at, at + this.#sizeMax));
  }

  async #send(batch: readonly Waiting<Request, Answer>[]): Promise<void> {
    try {
      const answers = await this.#call(batch.map((waiting) => waiting.request));
      batch.forEach((waiting, index) => {
        waiting.resolve(answers[index] as Answer);
      });
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }
}
