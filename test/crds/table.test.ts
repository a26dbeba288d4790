// The table of objects against the local check; `test/cluster/crds.test.ts` holds the same lines against a real API server.
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadTexts, type Problem } from '../../cli/objects/index.ts';
import { changed, LINES, MINIMAL_PIPELINE, type Plain } from './objects.ts';

/** Problems of one object, read from YAML beside the Pipeline that LiveSources name. */
function problemsOf(object: Plain): readonly Problem[] {
  const beside = object.kind === 'LiveSource' ? [changed(MINIMAL_PIPELINE, {})] : [];
  const text = [object, ...beside].map((one) => stringify(one, { version: '1.1' })).join('---\n');
  return loadTexts([{ name: 'line.yaml', folder: '/', text }]).problems;
}

test('the table has at least 80 objects', () => {
  expect(Object.keys(LINES).length).toBeGreaterThanOrEqual(80);
});

describe('the local check', () => {
  for (const [sentence, { object, refused }] of Object.entries(LINES)) {
    if (refused === undefined) {
      test(`accepts ${sentence}`, () => expect(problemsOf(object)).toEqual([]));
      continue;
    }
    test(`refuses ${sentence}, at ${refused.field}`, () => {
      const problems = problemsOf(object);
      expect(problems.map((problem) => problem.field)).toEqual([expect.stringMatching(startOf(refused.field))]);
      if (refused.says !== undefined) expect(problems[0]?.message).toContain(refused.says);
      expect(problems[0]?.line).toBeGreaterThan(0);
    });
  }
});

/** The field itself, or something below it. */
const startOf = (field: string): RegExp => new RegExp(`^${RegExp.escape(field)}($|[.[])`);
