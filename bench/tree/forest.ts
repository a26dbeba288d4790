// The shape that the tree is measured on: 10 live sources, each with 10 below it, each with 10 updates; 1,024 slots that are always full.
import { AdmissionTree, type Branch, type RequestOptions, type Run } from '../../operator/admission/index.ts';

export const SLOTS = 1_024;
const FANOUT = 10;

export type Variant = 'plain' | 'weights' | 'classes' | 'loans';

export class Forest {
  readonly tree: AdmissionTree;
  readonly updates: Branch[] = [];
  /** In flight, to be released in any order. */
  readonly flight: Run[] = [];
  readonly #variant: Variant;
  readonly #parents = new Map<Branch, Run>();
  #asked = 0;
  #isFilled = false;

  constructor(variant: Variant, waiting: number) {
    this.#variant = variant;
    const rooms = variant === 'classes' ? { cpu: SLOTS, gpu: SLOTS, full: 0 } : undefined;
    this.tree = new AdmissionTree({ slots: SLOTS, ...(rooms && { rooms }) });
    for (let i = 0; i < FANOUT; i++) {
      const weight = variant === 'weights' ? 1 + (i % 3) : 1;
      const source = this.tree.openSource(this.tree.pool, `s${i}`, { weight });
      for (let j = 0; j < FANOUT; j++) {
        const nested = this.tree.openSource(source, `t${j}`, { weight });
        for (let k = 0; k < FANOUT; k++) this.updates.push(this.tree.openUpdate(nested, `u${k}`));
      }
    }
    if (variant === 'loans')
      for (const update of this.updates) this.#parents.set(update, this.tree.request(update).run);
    while (this.flight.length < SLOTS) this.ask();
    for (let i = 0; i < waiting; i++) this.ask();
    this.#isFilled = true;
  }

  /** Requests so far. */
  get asked(): number {
    return this.#asked;
  }

  ask(update: Branch = this.updates[this.#asked % this.updates.length] as Branch): void {
    this.#asked++;
    for (const run of this.tree.request(update, this.#optionsFor(update)).granted) this.flight.push(run);
  }

  #optionsFor(update: Branch): RequestOptions {
    if (this.#variant === 'classes') return { runnerClass: this.#class() };
    const lender = this.#parents.get(update);
    return lender ? { lender } : {};
  }

  /** A third of the runs that wait from the beginning need a class without room, and are passed over for ever. */
  #class(): string {
    return (this.#isFilled ? ['cpu', 'gpu'] : ['cpu', 'gpu', 'full'])[this.#asked % (this.#isFilled ? 2 : 3)] as string;
  }
}
