// Words of code and prose for full text search. A word index splits at everything that is no letter or digit, so `snake_case` is two words;
// `camelCase` would stay one. Its parts are therefore indexed beside it, and a query for either finds both.

const HUMPED = /\p{L}[\p{L}\p{N}]*(?:\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}|\p{N}\p{Lu})[\p{L}\p{N}]*/gu;
const HUMPS = /(\p{Ll}|\p{N})(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** Words of a query beyond this many are left out: they cost time and add nothing. */
const QUERY_WORDS_MAX = 32;

/** Parts of the identifiers in camel case, each once, joined by blanks: `parseHttpHeader` gives `parse Http Header`. */
export function humps(text: string): string {
  const parts = new Set<string>();
  for (const [identifier] of text.matchAll(HUMPED)) {
    for (const part of identifier.replace(HUMPS, '$& ').split(' ')) parts.add(part);
  }
  return [...parts].join(' ');
}

/** What is indexed for a row: words of its place, of its text, and of the identifiers in it. */
export function indexedText(key: string, text: string): string {
  const parts = humps(`${key} ${text}`);
  return parts === '' ? `${key}\n${text}` : `${key}\n${text}\n${parts}`;
}

/** Words to look for, each once, in lower case: whatever people type, quotes and operators included, is only words. */
export function queryWords(query: string): string[] {
  const words = new Set<string>();
  for (const [word] of `${query} ${humps(query)}`.matchAll(WORD)) {
    words.add(word.toLowerCase());
    if (words.size === QUERY_WORDS_MAX) break;
  }
  return [...words];
}
