// The embedder `openai`: any server with the OpenAI interface. Calls of concurrent runs share batches; what the server
// refuses as too large is asked again in halves, so that only the guilty text fails (F26, F28).
import type { BatchSpec, EmbedSpec } from '../../../crds/schema/index.ts';
import { quantityBytes } from '../../../crds/schema/index.ts';
import { type BatchCall, type BatchedCalls, batchedCalls, RetryWithSmallerBatch, StepError } from '../../sdk/index.ts';
import type { Endpoint, PostOptions } from '../endpoint/endpoint.ts';
import { EndpointError } from '../endpoint/failure.ts';
import { estimateTokens } from '../endpoint/tokens.ts';
import { BatchSize } from './batch-size.ts';
import type { EmbedCall, Embedder } from './embedder.ts';
import { vectorsOf } from './reply.ts';

/** Raise it when a text's vector from the same model would be another one. */
const VERSION = 'openai/1';
/** Batches in flight per step: enough to keep a server busy, few enough that a runner keeps its descriptors (F32). Cards bound them too. */
const IN_FLIGHT_MAX = 8;

export interface OpenaiSettings {
  readonly spec: NonNullable<EmbedSpec['openai']>;
  readonly batch: BatchSpec | undefined;
  /** Its batches hold a card. */
  readonly gpu: boolean;
  /** Limit of one request. */
  readonly timeoutMs: number;
  /** Width that replies must have; undefined: that of the first reply. */
  readonly dimensions: number | undefined;
}

export class OpenaiEmbedder implements Embedder {
  readonly identity: string;
  readonly remembers = true;
  readonly #settings: OpenaiSettings;
  readonly #endpoint: Endpoint;
  readonly #batcher: BatchedCalls<string, Float32Array | StepError, EmbedCall>;
  readonly #size: BatchSize;
  #dimensions: number | undefined;
  /** Base64 is half the bytes; a server that refuses it is not asked again. */
  #encoding: 'base64' | 'float' = 'base64';

  constructor(settings: OpenaiSettings, endpoint: Endpoint) {
    const { spec, batch } = settings;
    this.#settings = settings;
    this.#endpoint = endpoint;
    this.#dimensions = settings.dimensions;
    this.#size = new BatchSize(batch?.maxSize ?? 64);
    // The address is no part of it: a model that moves to another server makes the same vectors.
    this.identity = `${VERSION}:${JSON.stringify([spec.model, spec.dimensions ?? settings.dimensions ?? null])}`;
    this.#batcher = batchedCalls((texts: readonly string[], call) => this.#request(texts, call), {
      gpu: settings.gpu,
      maxInFlight: IN_FLIGHT_MAX,
      maxSize: () => this.#size.limit,
      ...(batch?.maxTokens === undefined ? {} : { maxTokens: batch.maxTokens }),
      ...(batch?.maxBytes === undefined ? {} : { maxBytes: quantityBytes(batch.maxBytes) }),
      weigh: (text) => ({ tokens: estimateTokens(text), bytes: Buffer.byteLength(text) }),
    });
  }

  get dimensions(): number | undefined {
    return this.#dimensions;
  }

  embed(texts: readonly string[], call: EmbedCall): readonly Promise<Float32Array>[] {
    return this.#batcher.callEach(texts, { context: call, signal: call.signal }).map(async (result) => {
      const vector = await result;
      if (vector instanceof StepError) throw vector;
      return vector;
    });
  }

  close(): Promise<void> {
    return this.#endpoint.close();
  }

  async #request(
    texts: readonly string[],
    { context, contexts, signal }: BatchCall<EmbedCall>,
  ): Promise<readonly (Float32Array | StepError)[]> {
    try {
      const calls = contexts().map((one) => one.calls);
      const reply = await context.withCard(() => this.#post(texts, signal, calls), signal);
      const vectors = vectorsOf(reply, texts.length, this.#dimensions, this.#endpoint.name);
      this.#dimensions ??= vectors.find((vector) => vector instanceof Float32Array)?.length;
      this.#size.passed(texts.length);
      return vectors;
    } catch (error) {
      if (texts.length > 1 && mayPassInHalves(error)) {
        if (isTooMuch(error)) this.#size.refused(texts.length);
        throw new RetryWithSmallerBatch(error);
      }
      throw error;
    }
  }

  async #post(texts: readonly string[], signal: AbortSignal, calls: PostOptions['calls'] & {}): Promise<unknown> {
    const { spec, timeoutMs } = this.#settings;
    const encoding = this.#encoding;
    const width = spec.dimensions === undefined ? {} : { dimensions: spec.dimensions };
    const body = { model: spec.model, input: texts, encoding_format: encoding, ...width };
    const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
    try {
      const parts = texts.length;
      return await this.#endpoint.post('/embeddings', body, { tokens, timeoutMs, signal, calls, parts });
    } catch (error) {
      if (encoding === 'float' || !refusesEncoding(error)) throw error;
      this.#encoding = 'float';
      return this.#post(texts, signal, calls);
    }
  }
}

/** A text that the server cannot take fails its whole batch: halves find it. */
function mayPassInHalves(error: unknown): boolean {
  return isTooMuch(error) || (error instanceof EndpointError && (error.status === 400 || error.status === 422));
}

const isTooMuch = (error: unknown): boolean =>
  error instanceof StepError && (error.class === 'too-large' || error.class === 'timeout');

const refusesEncoding = (error: unknown): boolean =>
  error instanceof EndpointError && error.class === 'invalid' && /encoding_format|base64/i.test(error.words);
