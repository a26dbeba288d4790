// Boundaries of Markdown: headings by level, then paragraphs, then lines; code fences stay whole where they fit.
import { Boundaries } from './boundaries.ts';

/** Headings of all levels end a chunk that is not small. */
export const HEADING_RANK = 6;
const PARAGRAPH_RANK = 10;
const LINE_RANK = 20;
/** Within a fence that is larger than a chunk. */
const FENCED_RANK = 100;

const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|\r?$)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*\r?$/;
const BLANK = /^\s*$/;

/** Walks the lines once and says what may be cut before each. */
export function markdownBoundaries(text: string): Boundaries {
  const boundaries = new Boundaries();
  let fence: string | undefined;
  let previous: 'blank' | 'heading' | 'text' | 'fence-end' = 'blank';
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(start, end);
    if (fence !== undefined) {
      boundaries.add(start, FENCED_RANK);
      if (closes(line, fence)) {
        fence = undefined;
        previous = 'fence-end';
      }
    } else if (BLANK.test(line)) {
      if (previous !== 'heading') previous = 'blank';
    } else {
      const level = headingLevel(text, line, end, previous === 'text');
      // A heading stays with what follows it.
      if (previous !== 'heading' || level !== undefined) {
        boundaries.add(start, level ?? (previous === 'text' ? LINE_RANK : PARAGRAPH_RANK));
      }
      fence = FENCE.exec(line)?.[1];
      previous = level === undefined ? 'text' : 'heading';
    }
    start = end + 1;
  }
  return boundaries;
}

const closes = (line: string, fence: string): boolean => {
  const mark = FENCE.exec(line)?.[1];
  return mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark;
};

/** Level of a heading by `#` or by the underline on the next line; undefined for other lines. */
function headingLevel(text: string, line: string, end: number, inParagraph: boolean): number | undefined {
  const marks = HEADING.exec(line)?.[1];
  if (marks !== undefined) return marks.length;
  if (inParagraph || end >= text.length) return undefined;
  const newline = text.indexOf('\n', end + 1);
  const below = text.slice(end + 1, newline < 0 ? text.length : newline);
  if (!UNDERLINE.test(below)) return undefined;
  return below.trimStart().startsWith('=') ? 1 : 2;
}
