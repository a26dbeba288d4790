// Memoised functions of user code, over the memo of the run or of the live part. A result is kept as the bytes of its structured clone, so that what is found is
// what was computed, typed arrays included; every call gets a copy of its own.
import { deserialize, serialize } from 'node:v8';
import { type MemoId, StepError } from '../sdk/index.ts';
import { contentHashOf, shortHash } from './hash.ts';
import type { Memo, MemoEntry } from './ports.ts';

/** Where results are looked for and kept. */
export interface FunctionResults extends Pick<Memo, 'get'> {
  /** A promise where keeping takes time: the function gives its result after it. */
  put(entries: readonly MemoEntry[]): void | Promise<void>;
}

export class FunctionMemo {
  readonly #results: FunctionResults;
  readonly #identity: string;
  /** Calls in progress, by key: a second call waits for the first one's result. */
  readonly #calls = new Map<string, Promise<Uint8Array>>();

  /** `identity`: of the module, for functions without a version of their own. */
  constructor(results: FunctionResults, identity: string) {
    this.#results = results;
    this.#identity = identity;
  }

  async call({ name, version }: MemoId, input: unknown, compute: () => Promise<unknown>): Promise<unknown> {
    const code = version === undefined ? `module ${this.#identity}` : `version ${version}`;
    const key = shortHash(`function\n${name}\n${code}\n${keyText(input, name)}`);
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
    const [found] = await this.#results.get([key]);
    if (found !== undefined) return found;
    const value = encode(await compute(), name);
    await this.#results.put([{ key, value }]);
    return value;
  }
}

function encode(value: unknown, name: string): Uint8Array {
  try {
    return serialize(value);
  } catch (cause) {
    const message = `the memoised function "${name}" has a result that cannot be kept: ${(cause as Error).message}; return plain data`;
    throw new StepError('invalid', message, { cause });
  }
}

/** Equal values give equal texts, in whatever order an object's fields were set. Not the structured clone: it tells equal strings apart by how they lie in memory. */
function keyText(value: unknown, name: string): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === undefined || typeof value === 'bigint') return `${typeof value} ${String(value)}`;
  if (Array.isArray(value)) return `[${value.map((entry) => keyText(entry, name)).join(',')}]`;
  if (value instanceof Date) return `Date ${value.getTime()}`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} ${contentHashOf(bytesOf(value))}`;
  if (isPlain(value)) return `{${fieldTexts(value, name).join(',')}}`;
  const message = `the memoised function "${name}" got an argument that is no plain data; say with "key" what of its arguments counts`;
  throw new StepError('invalid', message);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function isPlain(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const fieldTexts = (record: { readonly [name: string]: unknown }, name: string): string[] =>
  Object.keys(record)
    .sort()
    .map((field) => `${JSON.stringify(field)}:${keyText(record[field], name)}`);
