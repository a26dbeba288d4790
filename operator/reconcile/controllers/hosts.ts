// The Pipelines that this operator hosts now. The gateway looks here for the pool of a runner.
import type { PipelineHost } from '../../host/index.ts';

export interface Hosted {
  readonly uid: string;
  readonly host: PipelineHost;
}

export class HostTable {
  readonly #hosts = new Map<string, Hosted>();

  /** By "namespace/name". */
  get(key: string): Hosted | undefined {
    return this.#hosts.get(key);
  }

  set(key: string, hosted: Hosted): void {
    this.#hosts.set(key, hosted);
  }

  /** Lets go of a Pipeline: its triggers end; its runners go with their pods. */
  close(key: string): Hosted | undefined {
    const hosted = this.#hosts.get(key);
    hosted?.host.close();
    this.#hosts.delete(key);
    return hosted;
  }

  closeAll(): void {
    for (const key of [...this.#hosts.keys()]) this.close(key);
  }

  entries(): IterableIterator<[string, Hosted]> {
    return this.#hosts.entries();
  }
}
