// Reads stored objects once per generation: zod takes a fraction of a millisecond, ten thousand sources many of them.
import { type LiveSource, type Pipeline, readStored } from '../../../crds/schema/index.ts';
import { keyOf, type StoredObject } from '../ports.ts';
import type { Trouble } from '../status/picture.ts';

export type Read<T> =
  | { readonly kind: 'read'; readonly spec: T }
  | { readonly kind: 'refused'; readonly refusal: Trouble };

interface Entry<T> {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  readonly read: Read<T>;
}

/** The same spec object for as long as an object's generation stays, so that identity tells whether it changed. */
class Reader<T> {
  readonly #parse: (object: StoredObject) => Read<T>;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(parse: (object: StoredObject) => Read<T>) {
    this.#parse = parse;
  }

  read(object: StoredObject): Read<T> {
    const key = keyOf(object);
    const { uid, generation } = object.metadata;
    const known = this.#entries.get(key);
    if (known !== undefined && known.uid === uid && known.generation === generation) return known.read;
    const read = this.#parse(object);
    this.#entries.set(key, { uid, generation, read });
    return read;
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }
}

const MESSAGES_MAX = 3;

function refusalOf(problems: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): Trouble {
  const lines = problems.slice(0, MESSAGES_MAX).map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  const more = problems.length - lines.length;
  return { reason: 'InvalidSpec', message: [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ') };
}

/** Status is ours and is not looked at: a newer operator may have written fields that this one does not know. */
const withoutStatus = ({ status: _, ...object }: StoredObject): StoredObject => object;

export type PipelineReader = Reader<Pipeline['spec']>;
export type SourceReader = Reader<LiveSource['spec']>;

export function pipelineReader(): PipelineReader {
  return new Reader((object) => {
    const read = readStored(withoutStatus(object), 'Pipeline');
    return read.ok ? { kind: 'read', spec: read.value.spec } : { kind: 'refused', refusal: refusalOf(read.problems) };
  });
}

export function sourceReader(): SourceReader {
  return new Reader((object) => {
    const read = readStored(withoutStatus(object), 'LiveSource');
    return read.ok ? { kind: 'read', spec: read.value.spec } : { kind: 'refused', refusal: refusalOf(read.problems) };
  });
}
