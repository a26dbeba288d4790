// Grammars on WebAssembly: loaded when first needed, one parser per thread.
import { readFile } from 'node:fs/promises';
import { Language, Parser, type Tree } from 'web-tree-sitter';
import { packageFile } from '../workers/url.ts';
import type { Leads } from './code.ts';

/** Types of nodes that belong to the node after them, in any grammar. */
const LEAD_TYPES = /^(comment|line_comment|block_comment|doc_comment|attribute_item|decorator|attribute_list)$/;

/**
 * Steps of the parser per character before it gives up, counted in hundreds of operations. Real code needs at most 0.02;
 * a count, unlike a time limit, stops at the same place on every machine.
 */
const PROGRESS_PER_CHARACTER = 0.25;
const PROGRESS_MIN = 2_000;

export interface Grammar extends Leads {
  readonly language: Language;
}

let parser: Promise<Parser> | undefined;
const grammars = new Map<string, Promise<Grammar>>();

/** Loads a grammar file of `@vscode/tree-sitter-wasm` once. */
export function loadGrammar(name: string): Promise<Grammar> {
  let grammar = grammars.get(name);
  if (grammar === undefined) {
    grammar = readGrammar(name);
    grammars.set(name, grammar);
  }
  return grammar;
}

async function readGrammar(name: string): Promise<Grammar> {
  await openParser();
  const language = await Language.load(await readFile(packageFile(`@vscode/tree-sitter-wasm/wasm/${name}.wasm`)));
  const leads = new Set<number>();
  for (let id = 0; id < language.nodeTypeCount; id++) {
    if (LEAD_TYPES.test(language.nodeTypeForId(id) ?? '')) leads.add(id);
  }
  return { language, isLead: (id) => leads.has(id) };
}

function openParser(): Promise<Parser> {
  parser ??= Parser.init().then(() => new Parser());
  return parser;
}

/** Parses a text; undefined where the parser gave up. The caller deletes the tree. */
export async function parse(text: string, grammar: Grammar): Promise<Tree | undefined> {
  const ready = await openParser();
  ready.setLanguage(grammar.language);
  let left = PROGRESS_MIN + text.length * PROGRESS_PER_CHARACTER;
  const tree = ready.parse(text, null, { progressCallback: () => --left < 0 });
  if (tree === null) ready.reset();
  return tree ?? undefined;
}
