// The step `embed`: gives every element with text its vector. Vectors that cost something are remembered by text, model
// and dimensions, whatever file or place the text is in (F12).
import { hash } from 'node:crypto';
import type { EmbedSpec } from '../../../crds/schema/index.ts';
import type { Step, StepContext } from '../../execute/index.ts';
import type { Element } from '../../sdk/index.ts';
import type { Embedder } from './embedder.ts';

export function openEmbed(spec: EmbedSpec, embedder: Embedder): Step {
  const prefix = spec.documentPrefix ?? '';
  return {
    identity: `embed:${embedder.identity}:${JSON.stringify(prefix)}`,
    run: (elements, context) => embed(elements, context, embedder, prefix),
    close: () => embedder.close(),
  };
}

/** Memo key of a text's vector: 32 hex digits. */
export function vectorKey(identity: string, text: string): string {
  return hash('sha256', `${identity}\n${text}`, 'hex').slice(0, 32);
}

async function embed(
  elements: readonly Element[],
  context: StepContext,
  embedder: Embedder,
  prefix: string,
): Promise<readonly Element[]> {
  const texts = new Set<string>();
  for (const { text } of elements) if (hasWords(text)) texts.add(prefix + text);
  const vectors = await vectorsOf([...texts], context, embedder);
  return elements.map((element) => {
    const known = element.text === undefined ? undefined : vectors.get(prefix + element.text);
    return known === undefined ? element : { ...element, ...known };
  });
}

const hasWords = (text: string | undefined): text is string => text !== undefined && text.trim() !== '';

interface KnownVector {
  readonly vector: Float32Array;
  readonly vectorKey?: string;
}

async function vectorsOf(
  texts: readonly string[],
  context: StepContext,
  embedder: Embedder,
): Promise<ReadonlyMap<string, KnownVector>> {
  if (texts.length === 0) return new Map();
  if (!embedder.remembers) {
    const vectors = await Promise.all(embedder.embed(texts, context));
    return new Map(texts.map((text, i) => [text, { vector: vectors[i]! }]));
  }
  const keys = texts.map((text) => vectorKey(embedder.identity, text));
  const found = context.reprocess ? [] : await context.memo.get(keys);
  const known = new Map<string, KnownVector>();
  const missing: number[] = [];
  for (const [i, text] of texts.entries()) {
    const bytes = found[i];
    if (bytes === undefined) missing.push(i);
    else known.set(text, { vector: floatsOf(bytes), vectorKey: keys[i]! });
  }
  const fresh =
    missing.length === 0
      ? []
      : embedder.embed(
          missing.map((i) => texts[i]!),
          context,
        );
  const results = await Promise.allSettled(
    fresh.map(async (result, n) => {
      const i = missing[n]!;
      const vector = await result;
      // Remembered as it comes: when another text of the item fails, the next attempt need not ask for this one again.
      context.memo.put([{ key: keys[i]!, value: bytesOf(vector) }]);
      known.set(texts[i]!, { vector, vectorKey: keys[i]! });
    }),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return known;
}

const bytesOf = (vector: Float32Array): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);

/** Copies: a store's bytes need not lie on a multiple of four. */
const floatsOf = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer);
