// What the dispatcher tells others, held until the turn in which it decided is over: whoever answers at once never finds the dispatcher in
// the middle of a decision. Order is kept (K2).
import type { CardGrant, FencingToken, RunNumber, Runner, RunOrder, RunOutcome } from '../../runner/protocol/index.ts';

/** Calls `flush` once, soon, and never before the caller has returned. */
export type Defer = (flush: () => void) => void;

export class Outbox {
  #posts: (() => void)[] = [];
  #isDue = false;
  readonly #defer: Defer;
  readonly #flush = (): void => this.flush();

  constructor(defer: Defer) {
    this.#defer = defer;
  }

  post(tell: () => void): void {
    this.#posts.push(tell);
    if (this.#isDue) return;
    this.#isDue = true;
    this.#defer(this.#flush);
  }

  /** Delivers everything; what somebody causes by answering at once goes out with the next turn. */
  flush(): void {
    const posts = this.#posts;
    this.#posts = [];
    this.#isDue = false;
    for (const tell of posts) tell();
  }
}

/** A runner that answers at once: calls wait until the turn is over. */
export class PostedRunner implements Runner {
  readonly #runner: Runner;
  readonly #outbox: Outbox;

  constructor(runner: Runner, outbox: Outbox) {
    this.#runner = runner;
    this.#outbox = outbox;
  }

  start(order: RunOrder): void {
    this.#outbox.post(() => this.#runner.start(order));
  }

  cancel(run: RunNumber, why: string): void {
    this.#outbox.post(() => this.#runner.cancel(run, why));
  }

  renewed(run: RunNumber, token: FencingToken): void {
    this.#outbox.post(() => this.#runner.renewed(run, token));
  }

  mountStarted(parent: RunNumber, mount: number): void {
    this.#outbox.post(() => this.#runner.mountStarted(parent, mount));
  }

  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    this.#outbox.post(() => this.#runner.mountEnded(parent, mount, outcome));
  }

  cardGranted(run: RunNumber, ask: number, grant: CardGrant): void {
    this.#outbox.post(() => this.#runner.cardGranted(run, ask, grant));
  }

  cardRefused(run: RunNumber, ask: number, why: string): void {
    this.#outbox.post(() => this.#runner.cardRefused(run, ask, why));
  }
}
