// Splits one text: picks the splitter, packs, and says where every chunk stands.
import { Boundaries } from './boundaries.ts';
import { codeBoundaries } from './code.ts';
import { type Grammar, loadGrammar, parse } from './grammar.ts';
import { grammarOf } from './languages.ts';
import { HEADING_RANK, markdownBoundaries } from './markdown.ts';
import { pack } from './pack.ts';
import { locate } from './place.ts';

/** Longer code is split as text: files of this size are generated or minified, and their trees take much memory. */
const CODE_CHARACTERS_MAX = 2_000_000;

export interface SplitInput {
  readonly by: 'text' | 'markdown' | 'code';
  readonly language: string | undefined;
  readonly chunkSize: number;
  readonly overlap: number;
}

export interface SplitOutput {
  /** Places of the chunks, see `CHUNK_FIELDS`. */
  readonly places: Float64Array<ArrayBuffer>;
  /** The parser broke: its thread should not be used again. */
  readonly broken: boolean;
}

/** Splits a well-formed text. */
export async function splitText(text: string, input: SplitInput): Promise<SplitOutput> {
  const { chunkSize, overlap, language } = input;
  const sizes = { chunkSize, overlap };
  if (input.by === 'markdown' || (input.by === 'code' && language === 'markdown')) {
    const ranges = pack(text, markdownBoundaries(text), { ...sizes, eagerRank: HEADING_RANK });
    return { places: locate(text, ranges), broken: false };
  }
  const found = input.by === 'code' ? await boundariesOfCode(text, language, chunkSize) : 'none';
  const boundaries = typeof found === 'string' ? new Boundaries() : found;
  return { places: locate(text, pack(text, boundaries, sizes)), broken: found === 'broken' };
}

/** `none`: no tree is needed or to be had, so the text is cut by lines. */
async function boundariesOfCode(
  text: string,
  language: string | undefined,
  chunkSize: number,
): Promise<Boundaries | 'none' | 'broken'> {
  const name = grammarOf(language);
  if (name === undefined || text.length <= chunkSize || text.length > CODE_CHARACTERS_MAX) return 'none';
  const grammar = await loadGrammar(name);
  try {
    return await parsedBoundaries(text, grammar, chunkSize);
  } catch {
    // The WebAssembly module trapped, perhaps out of memory. Its state is unknown, the text is not lost.
    return 'broken';
  }
}

async function parsedBoundaries(text: string, grammar: Grammar, chunkSize: number): Promise<Boundaries | 'none'> {
  const tree = await parse(text, grammar);
  if (tree === undefined) return 'none';
  try {
    return codeBoundaries(text, tree, chunkSize, grammar);
  } finally {
    tree.delete();
  }
}
