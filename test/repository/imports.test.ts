// The check of import directions: a wrong arrow fails it, whatever form the import has.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { check, importsOf } from '../../scripts/imports.ts';

const wrongArrows = {
  'the pure tree may not import dispatch': {
    path: 'operator/admission/tree.ts',
    text: "import { place } from '../dispatch/index.ts';",
    wantRule: 'I1',
  },
  'the pure tree may not import a part of Node': {
    path: 'operator/admission/tree.ts',
    text: "import { hrtime } from 'node:process';",
    wantRule: 'I1',
  },
  'the engine may not import a store, not even its types': {
    path: 'runner/execute/engine.ts',
    text: "import type { SqliteState } from '../state/index.ts';",
    wantRule: 'I1',
  },
  'an import at call time counts': {
    path: 'runner/execute/engine.ts',
    text: "const { split } = await import('../steps/index.ts');",
    wantRule: 'I1',
  },
  'a re-export over several lines counts': {
    path: 'runner/execute/engine.ts',
    text: "export {\n  split,\n  embed,\n} from '../steps/index.ts';",
    wantRule: 'I1',
  },
  'an import for its side effects counts': {
    path: 'runner/sdk/mount.ts',
    text: "import '../execute/index.ts';",
    wantRule: 'I1',
  },
  'the engine takes types of the schema, never its code': {
    path: 'runner/execute/engine.ts',
    text: "import { pipeline } from '../../crds/schema/index.ts';",
    wantRule: 'I1',
  },
  'another room is entered by its door': {
    path: 'runner/state/sqlite.ts',
    text: "import type { Commit } from '../execute/ports.ts';",
    wantRule: 'I2',
  },
  'telemetry libraries stay at home': {
    path: 'runner/execute/engine.ts',
    text: "import { trace } from '@opentelemetry/api';",
    wantRule: 'I3',
  },
};

for (const [claim, { path, text, wantRule }] of Object.entries(wrongArrows))
  test(`refused: ${claim}`, () => {
    const found = check(path, text);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`(${wantRule})`);
    expect(found[0]).toMatch(new RegExp(`^${path}:1: `));
  });

test('an allowed arrow passes', () => {
  expect(check('runner/state/sqlite.ts', "import type { Commit } from '../execute/index.ts';")).toEqual([]);
  expect(check('runner/execute/a.ts', "import type { Pipeline } from '../../crds/schema/index.ts';")).toEqual([]);
  expect(check('operator/admission/tree.ts', "import { Heap } from './heap.ts';")).toEqual([]);
});

test('a file that belongs to no room is refused until it has a rule', () => {
  expect(check('operator/attic/old.ts', '')).toHaveLength(1);
});

test('imports are found with their line', () => {
  const text = "// import { a } from 'a';\nimport { b } from 'b';\nimport type {\n  C,\n} from './c.ts';\n";
  expect(importsOf(text)).toEqual([
    { specifier: 'b', typeOnly: false, line: 2 },
    { specifier: './c.ts', typeOnly: true, line: 3 },
  ]);
});

test('every room of the repository keeps the directions', () => {
  const output = execFileSync(process.execPath, ['scripts/imports.ts'], { encoding: 'utf8' });
  expect(output).toContain(' 0 wrong arrows');
});
