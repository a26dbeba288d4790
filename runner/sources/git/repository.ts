// The port between the git source and where its objects lie: a checkout on this machine, or a copy of a remote in the cache.
import type { ObjectReader } from './objects.ts';
import type { GitContext } from './process.ts';

export interface Repository {
  /** For messages: address without secrets. */
  readonly shown: string;
  /** Objects of the repository, once `refresh` was called. */
  readonly objects: ObjectReader;
  /** How git reads it, for commands that stay on this machine. */
  readonly context: GitContext;
  /** Commit that the ref stands for, looked up again if what is known is older than `notBeforeMs`; its objects are here afterwards. Throws StepError. */
  refresh(notBeforeMs: number, signal: AbortSignal): Promise<string>;
  /** Resolves when the ref may have moved; rejects when the signal aborts. The first call arms: what moves after it resolved once is not missed. */
  movements(signal: AbortSignal): AsyncIterable<void>;
  close(): Promise<void>;
}
