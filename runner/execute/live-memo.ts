// What functions of a live part computed. A live part never commits, so no component can hold its results: they are kept by age.
//
//   L1. A result is in the state before the function gives it: a live part that is begun again, by whichever process, does not compute it again.
//   L2. A result that is found again begins its age anew, so only what nobody asked for in a long time goes.
import type { FunctionResults } from './module-memo.ts';
import type { MemoEntry } from './ports.ts';
import type { Services } from './services.ts';

export class LiveMemo implements FunctionResults {
  readonly #services: Pick<Services, 'memo' | 'keep'>;

  constructor(services: Pick<Services, 'memo' | 'keep'>) {
    this.#services = services;
  }

  async get(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { memo, keep } = this.#services;
    const values = await Promise.all(keys.map((key) => memo.entries.ask(key)));
    void keep(keys.flatMap((key, at) => (values[at] === undefined ? [] : [{ key, value: values[at] }])));
    return values;
  }

  put(entries: readonly MemoEntry[]): Promise<void> {
    return this.#services.keep(entries);
  }
}
