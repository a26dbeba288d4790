// Memoised functions of user code, over the memo of the run. A result is kept as the bytes of its structured clone, so that what is found is
// what was computed, typed arrays included; every call gets a copy of its own.
import { deserialize, serialize } from 'node:v8';
import { type MemoId, StepError } from '../sdk/index.ts';
import { shortHash } from './hash.ts';
import type { Memo } from './ports.ts';

export class FunctionMemo {
  readonly #memo: Memo;
  readonly #identity: string;
  /** Calls in progress, by key: a second call waits for the first one's result. */
  readonly #calls = new Map<string, Promise<Uint8Array>>();

  /** `identity`: of the module, for functions without a version of their own. */
  constructor(memo: Memo, identity: string) {
    this.#memo = memo;
    this.#identity = identity;
  }

  async call({ name, version }: MemoId, input: unknown, compute: () => Promise<unknown>): Promise<unknown> {
    const code = version === undefined ? `module ${this.#identity}` : `version ${version}`;
    const key = shortHash(
      Buffer.concat([Buffer.from(`function\n${name}\n${code}\n`), encode(input, name, 'argument')]),
    );
    const known = this.#calls.get(key);
    if (known !== undefined) return deserialize(await known);
    const call = this.#look(key, name, compute);
    this.#calls.set(key, call);
    try {
      return deserialize(await call);
    } finally {
      this.#calls.delete(key);
    }
  }

  async #look(key: string, name: string, compute: () => Promise<unknown>): Promise<Uint8Array> {
    const [found] = await this.#memo.get([key]);
    if (found !== undefined) return found;
    const value = encode(await compute(), name, 'result');
    this.#memo.put([{ key, value }]);
    return value;
  }
}

/** Equal values give equal bytes, for arguments that were built alike. */
function encode(value: unknown, name: string, what: string): Uint8Array {
  try {
    return serialize(value);
  } catch (cause) {
    const message = `the memoised function "${name}" has a ${what} that cannot be kept: ${(cause as Error).message}; use plain data`;
    throw new StepError('invalid', message, { cause });
  }
}
