// Cuts within plain text: paragraph, line, sentence, word, character, the best that the window offers.

/** Where to cut (fresh, end]: in the second half of the chunk if possible, so that chunks do not get small. */
export function lineCut(text: string, fresh: number, start: number, end: number): number {
  const half = Math.max(fresh + 1, start + Math.floor((end - start) / 2));
  return bestCut(text, half, end) ?? bestCut(text, fresh + 1, half) ?? unpaired(text, end, fresh);
}

function bestCut(text: string, from: number, end: number): number | undefined {
  if (from > end) return undefined;
  const window = text.slice(from - 1, end);
  const at = paragraphEnd(window) ?? lineEnd(window) ?? sentenceEnd(window) ?? wordEnd(window);
  return at === undefined ? undefined : from - 1 + at;
}

const after = (index: number, width: number): number | undefined => (index < 0 ? undefined : index + width);

const lineEnd = (window: string) => after(window.lastIndexOf('\n'), 1);
const wordEnd = (window: string) => after(Math.max(window.lastIndexOf(' '), window.lastIndexOf('\t')), 1);

function paragraphEnd(window: string): number | undefined {
  return after(window.lastIndexOf('\n\n'), 2) ?? after(window.lastIndexOf('\n\r\n'), 3);
}

function sentenceEnd(window: string): number | undefined {
  const ends = ['. ', '! ', '? ', '; '].map((mark) => window.lastIndexOf(mark));
  return after(Math.max(...ends), 2) ?? after(Math.max(window.lastIndexOf('。'), window.lastIndexOf('．')), 1);
}

/** The end itself, moved off the middle of a surrogate pair: back, or forward where nothing would be left. */
function unpaired(text: string, end: number, fresh: number): number {
  if (!isInsidePair(text, end)) return end;
  return end - 1 > fresh ? end - 1 : end + 1;
}

export function isInsidePair(text: string, at: number): boolean {
  return isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

/** Where a repeated part begins that may start at `from`: at a line, else a word, else a whole character. */
export function overlapStart(text: string, from: number, fresh: number): number {
  if (from === 0) return 0;
  const window = text.slice(from - 1, fresh);
  const at = after(window.indexOf('\n'), 1) ?? after(window.indexOf(' '), 1);
  if (at !== undefined) return Math.min(from - 1 + at, fresh);
  return isInsidePair(text, from) ? from + 1 : from;
}
