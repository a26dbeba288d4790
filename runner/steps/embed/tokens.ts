// Words of prose and code for the `hash` embedder: identifiers are cut at case changes, underscores and digits, so that
// `maxInflightComponents`, `max_inflight_components` and "max inflight components" meet.

/** Receives each word as a range of a text, lower-cased by the receiver; `part` counts within one identifier. */
export interface WordSink {
  word(start: number, end: number): void;
  /** An identifier of several words ended. */
  identifier(start: number, end: number): void;
}

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const OTHER = 4;

/** Class of each ASCII character; 0 ends an identifier. */
const CLASSES = new Uint8Array(128);
for (let code = 97; code <= 122; code++) CLASSES[code] = LOWER;
for (let code = 65; code <= 90; code++) CLASSES[code] = UPPER;
for (let code = 48; code <= 57; code++) CLASSES[code] = DIGIT;

const UNDERSCORE = 95;

/** Letters beyond ASCII are words of their own script; ideographs and kana stand alone. */
function classBeyondAscii(code: number): number {
  if (code < 0xc0 || (code >= 0x2000 && code <= 0x2bff) || (code >= 0x3000 && code <= 0x303f)) return 0;
  return OTHER;
}

const isIdeograph = (code: number): boolean =>
  (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af);

/** Walks a text once. */
export function forEachWord(text: string, sink: WordSink): void {
  let identifier = -1;
  let words = 0;
  let start = -1;
  let previous = 0;
  const { length } = text;
  for (let i = 0; i <= length; i++) {
    const code = i < length ? text.charCodeAt(i) : 0;
    const kind = code < 128 ? CLASSES[code]! : classBeyondAscii(code);
    // Most characters go on with the word that they are in.
    if (kind === previous && kind === LOWER) continue;
    if (start >= 0 && endsWord(text, i, previous, kind, code)) {
      sink.word(start, i);
      words++;
      start = -1;
    }
    if (kind !== 0) {
      if (start < 0) start = i;
      if (identifier < 0) identifier = i;
    } else if (identifier >= 0 && code !== UNDERSCORE) {
      if (words > 1) sink.identifier(identifier, i);
      identifier = -1;
      words = 0;
    }
    previous = kind;
  }
}

function endsWord(text: string, at: number, previous: number, kind: number, code: number): boolean {
  if (kind === 0) return true;
  if (kind === OTHER) return previous !== OTHER || isIdeograph(code) || isIdeograph(text.charCodeAt(at - 1));
  if (kind === previous) {
    // The last capital of a run begins the next word: `HTTPServer` is http, server.
    return kind === UPPER && CLASSES[text.charCodeAt(at + 1)] === LOWER;
  }
  return !(previous === UPPER && kind === LOWER);
}
