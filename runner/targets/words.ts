// Words of code and prose for full text search. A word index splits at everything that is no letter or digit, so `snake_case` is two words;
// `camelCase` would stay one. Its parts are therefore indexed beside it, and a query for either finds both.

const NO_WORD = /[^0-9A-Za-z\u0080-\uffff]+/g;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** Words of a query beyond this many are left out: they cost time and add nothing. */
const QUERY_WORDS_MAX = 32;
/** Longer ones are no words but data, and Postgres refuses them. */
const WORD_CHARS_MAX = 200;
/** Postgres keeps at most 1 MiB of words for a row; a row this long should have been split. */
const PLAIN_CHARS_MAX = 262_144;

/**
 * Parts of the identifiers in camel case, each once, joined by blanks: `parseHTTPHeader` gives `parse HTTP Header`.
 * One pass over character codes: a regular expression with Unicode classes takes longer here than all of SQLite's work on the row.
 */
export function humps(text: string): string {
  const parts = new Set<string>();
  let wordStart = 0;
  let partStart = 0;
  let before = OTHER;
  for (let at = 0; at <= text.length; at++) {
    const kind = at < text.length ? kindOf(text.charCodeAt(at)) : OTHER;
    if (kind === OTHER) {
      if (partStart > wordStart) parts.add(text.slice(partStart, at));
      wordStart = at + 1;
      partStart = wordStart;
    } else if (kind === UPPER && before === LOWER) {
      parts.add(text.slice(partStart, at));
      partStart = at;
    } else if (kind === LOWER && before === UPPER && at - 1 > partStart) {
      parts.add(text.slice(partStart, at - 1));
      partStart = at - 1;
    }
    before = kind;
  }
  return [...parts].join(' ');
}

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;

/** Digits and letters beyond ASCII count as lower case: they go on with a word and never begin a part. */
function kindOf(code: number): number {
  if (code >= 97) return code <= 122 || code > 127 ? LOWER : OTHER;
  if (code >= 65) return code <= 90 ? UPPER : OTHER;
  return code >= 48 && code <= 57 ? LOWER : OTHER;
}

/** What is indexed for a row: words of its place, of its text, and of the identifiers in it. */
export function indexedText(key: string, text: string): string {
  const parts = humps(`${key} ${text}`);
  return parts === '' ? `${key}\n${text}` : `${key}\n${text}\n${parts}`;
}

/**
 * The same for Postgres, whose parser takes `a.b` for a host and `a/b` for a file and keeps both in one piece: everything in ASCII that is no
 * letter or digit becomes a blank before it sees the text.
 */
export function plainWords(key: string, text: string): string {
  return indexedText(key, text.slice(0, PLAIN_CHARS_MAX)).replaceAll(NO_WORD, ' ');
}

/** Words to look for, each once, in lower case: whatever people type, quotes and operators included, is only words. */
export function queryWords(query: string): string[] {
  const words = new Set<string>();
  for (const [word] of `${query} ${humps(query)}`.matchAll(WORD)) {
    if (word.length <= WORD_CHARS_MAX) words.add(word.toLowerCase());
    if (words.size === QUERY_WORDS_MAX) break;
  }
  return [...words];
}
