// Reads an answer to /embeddings. Nothing leaves that is not one finite vector of the right width per text (F27).
import { StepError } from '../../sdk/index.ts';

/**
 * Vectors in the order of the texts. A vector with a value that is no number is an error of that text alone; too few
 * vectors or another width are errors of the whole answer. `dimensions` undefined: all must have the first one's width.
 */
export function vectorsOf(
  reply: unknown,
  count: number,
  dimensions: number | undefined,
  server: string,
): (Float32Array | StepError)[] {
  const data = dataOf(reply);
  if (data === undefined) throw new StepError('transient', `${server} answered without a list of embeddings`);
  if (data.length !== count) {
    throw new StepError('transient', `${server} answered with ${data.length} vectors for ${count} texts`);
  }
  const ordered = inOrder(data, server).map((entry) => floatsOf(entry.embedding, server));
  const want = dimensions ?? ordered[0]?.length ?? 0;
  for (const vector of ordered) {
    if (vector.length !== want || want === 0) {
      const message = `${server} answered with a vector of ${vector.length} dimensions where ${want} were expected`;
      throw new StepError('invalid', `${message}: set the same width on the model and the target`);
    }
  }
  return ordered.map((vector) =>
    vector.every(Number.isFinite)
      ? vector
      : new StepError('invalid', `${server} answered with a vector that holds a value that is no number`),
  );
}

interface Entry {
  readonly index?: unknown;
  readonly embedding?: unknown;
}

function dataOf(reply: unknown): readonly Entry[] | undefined {
  if (typeof reply !== 'object' || reply === null || !('data' in reply) || !Array.isArray(reply.data)) return undefined;
  return reply.data.every((entry) => typeof entry === 'object' && entry !== null) ? reply.data : undefined;
}

/** By `index` where every entry has one, as a server may answer in any order; else as they came. */
function inOrder(data: readonly Entry[], server: string): readonly Entry[] {
  if (data.some((entry) => entry.index === undefined)) return data;
  const byIndex = new Map(data.map((entry) => [entry.index, entry]));
  return data.map((_, i) => {
    const entry = byIndex.get(i);
    if (entry === undefined) throw new StepError('transient', `${server} answered without a vector for text ${i}`);
    return entry;
  });
}

function floatsOf(embedding: unknown, server: string): Float32Array {
  if (typeof embedding === 'string') return fromBase64(embedding);
  if (Array.isArray(embedding)) {
    // JSON has no NaN: servers send null for it.
    return Float32Array.from(embedding, (value) => (typeof value === 'number' ? value : Number.NaN));
  }
  throw new StepError('transient', `${server} answered with an embedding that is neither a list nor base64`);
}

/** Little-endian 32-bit floats. */
function fromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  const vector = new Float32Array(Math.floor(bytes.length / 4));
  for (let i = 0; i < vector.length; i++) vector[i] = bytes.readFloatLE(i * 4);
  return vector;
}
