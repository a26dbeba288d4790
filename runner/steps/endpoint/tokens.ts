// How many tokens a text has, roughly, for bounds and rates; never for money.

/** Bytes of UTF-8 per token. Prose has about 4.5, code about 3.3, ideographs 2 to 3: the estimate is meant to be high. */
const BYTES_PER_TOKEN = 3;

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
