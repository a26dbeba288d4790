// The port of the embedders: texts in, vectors out.
import type { StepContext } from '../../execute/index.ts';

/** What an embedder needs of the run that asks. */
export type EmbedCall = Pick<StepContext, 'item' | 'signal' | 'update' | 'withCard' | 'calls'>;

export interface Embedder {
  /** Model, version and dimensions: what decides the vector of a text. */
  readonly identity: string;
  /** Whether a vector costs more than a look into the memo. */
  readonly remembers: boolean;
  /** Width of the vectors; undefined until the server's first reply tells. */
  readonly dimensions: number | undefined;
  /** One vector for each text, in order, all of one width; each comes or fails by itself. No text is blank. */
  embed(texts: readonly string[], call: EmbedCall): readonly Promise<Float32Array>[];
  close(): Promise<void>;
}
