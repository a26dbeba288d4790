// Prints what a search found: path, lines, score and the passage.
import pc from 'picocolors';
import type { SearchHit } from '../../runner/execute/index.ts';
import { printable, printableName } from '../printable.ts';

/** Lines of a passage that are printed for people; `-o wide` and forms for programs have all of it. */
const PASSAGE_LINES_MAX = 8;
const LINE_WIDTH_MAX = 160;

/** One answer, as programs get it. */
export interface Answer {
  readonly rank: number;
  readonly path: string;
  /** From 1, both inclusive; absent where the item has no lines. */
  readonly lines?: { readonly start: number; readonly end: number };
  readonly score: number;
  readonly passage: string;
  readonly source: string;
  readonly pipeline: string;
  readonly bytes?: { readonly start: number; readonly end: number };
  readonly language?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Hits as answers, in their order. */
export function answersOf(hits: readonly SearchHit[], pipeline: string): Answer[] {
  return hits.map(({ source, key, score, element }, at) => ({
    rank: at + 1,
    path: key,
    ...(element.place && { lines: { start: element.place.startLine, end: element.place.endLine } }),
    score: Number(score.toPrecision(6)),
    passage: element.text ?? '',
    source,
    pipeline,
    ...(element.place && { bytes: { start: element.place.startByte, end: element.place.endByte } }),
    ...(element.language !== undefined && { language: element.language }),
    ...(element.fields !== undefined && { fields: element.fields }),
  }));
}

function passageLines(passage: string, isWhole: boolean): string[] {
  const lines = passage
    .replace(/^\s*\n/, '')
    .trimEnd()
    .split('\n');
  const cut = lines.slice(0, isWhole ? lines.length : PASSAGE_LINES_MAX).map((line) => {
    const plain = printable(line.replaceAll('\t', '  ').replaceAll('\r', ''));
    return plain.length > LINE_WIDTH_MAX && !isWhole ? `${plain.slice(0, LINE_WIDTH_MAX - 1)}…` : plain;
  });
  const more = lines.length - cut.length;
  return more > 0 ? [...cut, `… ${more} more ${more === 1 ? 'line' : 'lines'}`] : cut;
}

/** Answers for people. `isWhole`: nothing of a passage is cut. */
export function answersText(answers: readonly Answer[], isWhole: boolean): string {
  return answers
    .map(({ rank, path, lines, score, passage }) => {
      const item = printableName(path);
      const place = lines === undefined ? item : `${item}:${lines.start}-${lines.end}`;
      const head = `${pc.bold(`${rank}. ${place}`)}  ${pc.dim(`score ${score.toFixed(4)}`)}`;
      return [head, ...passageLines(passage, isWhole).map((line) => `   ${line}`)]
        .map((line) => `${line.trimEnd()}\n`)
        .join('');
    })
    .join('\n');
}
