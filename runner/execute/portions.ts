// Begins what is handed to it in portions, one a turn of the event loop. A thousand slots that free together would else begin a thousand runs at
// once: none of them would commit before all had begun, all that they hold would live through collections of garbage, and whatever else has
// to be answered, such as a saved file, would wait for them.
//
//   P1. What comes while this turn's portion has room begins at once; the rest in order of arrival, a portion a turn.
import { afterThisTurn, type Gather } from './batch.ts';

export class Portions<Task> {
  readonly #size: number;
  readonly #begin: (task: Task) => void;
  readonly #gather: Gather;
  readonly #waiting: Task[] = [];
  #begun = 0;
  #isTurning = false;

  constructor(size: number, begin: (task: Task) => void, gather: Gather = afterThisTurn) {
    this.#size = size;
    this.#begin = begin;
    this.#gather = gather;
  }

  add(task: Task): void {
    this.#waiting.push(task);
    if (this.#waiting.length === 1) this.#beginSome();
  }

  #beginSome(): void {
    while (this.#begun < this.#size && this.#waiting.length > 0) {
      this.#begun += 1;
      if (!this.#isTurning) {
        this.#isTurning = true;
        this.#gather(this.#turn);
      }
      this.#begin(this.#waiting.shift() as Task);
    }
  }

  readonly #turn = (): void => {
    this.#isTurning = false;
    this.#begun = 0;
    this.#beginSome();
  };
}
