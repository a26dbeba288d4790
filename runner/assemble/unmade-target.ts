// Stands for a target that was only looked at and was never made: it is empty, and a search says that nothing was indexed yet.
import type { Target } from '../execute/index.ts';

export class UnmadeTarget implements Target {
  readonly name: string;
  readonly identity = 'never made';
  readonly shared: boolean;
  readonly keepsVectors = false;
  readonly search?: NonNullable<Target['search']>;
  readonly #error: Error;

  /** `error`: why there is nothing to look at. */
  constructor({ name, shared, search }: Target, error: Error) {
    this.name = name;
    this.shared = shared;
    this.#error = error;
    if (search !== undefined) this.search = () => Promise.reject(error);
  }

  async prepare(): Promise<'rebuilt'> {
    return 'rebuilt';
  }

  async vectors(): Promise<ReadonlyMap<string, Float32Array>> {
    return new Map();
  }

  async scan(): Promise<readonly never[]> {
    return [];
  }

  apply(): Promise<void> {
    return Promise.reject(this.#error);
  }

  async drop(): Promise<void> {}

  async close(): Promise<void> {}
}
