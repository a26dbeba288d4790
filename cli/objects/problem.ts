// A problem with an object in a file, and how it is printed.
import type { FieldPath } from '../../crds/schema/index.ts';
import type { Spot } from './yaml.ts';

/** One thing that is wrong, and where. */
export interface Problem {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  /** Such as `Pipeline search/code-index`; absent where the text could not be read as an object. */
  readonly object?: string;
  /** Such as `spec.component.steps[2].embed`; absent where it is about the object as a whole. */
  readonly field?: string;
  readonly message: string;
}

/** `spec.component.steps[2].embed`; keys that are no plain words stand in brackets. */
export function fieldText(path: FieldPath): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) text += text === '' ? key : `.${key}`;
    else text += `[${JSON.stringify(key)}]`;
  }
  return text;
}

/** Where in its file a problem is, such as `a.yaml:12:9`. */
export const placeText = ({ file, line, column }: { readonly file: string } & Partial<Spot>): string =>
  line === undefined ? file : `${file}:${line}:${column ?? 1}`;

/** One line for people: place, object, field, what is wrong. */
export function problemText(problem: Problem): string {
  const what = problem.field === undefined ? problem.message : `${problem.field}: ${problem.message}`;
  return `${placeText(problem)}: ${problem.object === undefined ? '' : `${problem.object}: `}${what}`;
}

/** Order of reading: by file as given, then by place. Problems of one place keep their order. */
export function inReadingOrder(problems: readonly Problem[], files: readonly string[]): Problem[] {
  const rank = (problem: Problem): number => files.indexOf(problem.file);
  return problems.toSorted(
    (a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}
