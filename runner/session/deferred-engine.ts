// A runner that is told things before it is there: calls wait until it is, and reach it in order; with them goes the operator's epoch, shifted as
// the state store wants it (`StateStore.open`).
import type { CardGrant, FencingToken, RunNumber, Runner, RunOrder, RunOutcome } from '../protocol/index.ts';

export class DeferredEngine implements Runner {
  #engine: Runner | undefined;
  #waiting: ((engine: Runner) => void)[] = [];
  #shift = 0;

  /** From now on calls reach this engine, those that wait first. `shift` is added to the epochs of tokens. */
  attach(engine: Runner, shift = 0): void {
    this.#engine = engine;
    this.#shift = shift;
    for (const call of this.#waiting.splice(0)) call(engine);
  }

  start(order: RunOrder): void {
    this.#call((engine) => engine.start(this.#shift === 0 ? order : { ...order, token: this.#shifted(order.token) }));
  }

  cancel(run: RunNumber, why: string): void {
    this.#call((engine) => engine.cancel(run, why));
  }

  renewed(run: RunNumber, token: FencingToken): void {
    this.#call((engine) => engine.renewed(run, this.#shifted(token)));
  }

  mountStarted(parent: RunNumber, mount: number): void {
    this.#call((engine) => engine.mountStarted(parent, mount));
  }

  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    this.#call((engine) => engine.mountEnded(parent, mount, outcome));
  }

  cardGranted(run: RunNumber, ask: number, grant: CardGrant): void {
    this.#call((engine) => engine.cardGranted(run, ask, grant));
  }

  cardRefused(run: RunNumber, ask: number, why: string): void {
    this.#call((engine) => engine.cardRefused(run, ask, why));
  }

  #shifted(token: FencingToken): FencingToken {
    return { ...token, epoch: token.epoch + this.#shift };
  }

  #call(call: (engine: Runner) => void): void {
    if (this.#engine === undefined) this.#waiting.push(call);
    else call(this.#engine);
  }
}
