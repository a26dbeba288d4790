// `fairlead validate` as a user runs it: a real process, its output and its exit code.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary.ts';

async function validate(
  args: readonly string[],
  stdin = '',
): Promise<{ stdout: string; stderr: string; code: number }> {
  const child = spawn(process.execPath, ['cli/main.ts', 'validate', ...args], { stdio: 'pipe' });
  child.stdin.end(stdin);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code: Number(code) };
}

const SOURCE = `apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: docs}
spec: {pipelineRef: {name: code-index}, source: {directory: {path: .}}, intervall: 30s, weight: 0}
`;

describe('fairlead validate', () => {
  test('names each valid object and ends with 0', async () => {
    const { stdout, stderr, code } = await validate(['-f', 'examples/code-index']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^examples\/code-index\/pipeline\.yaml:\d+:1: Pipeline default\/code-index is valid$/),
      expect.stringMatching(/^examples\/code-index\/source\.yaml:\d+:1: LiveSource default\/repository is valid$/),
      '',
    ]);
  });

  test('prints each problem on a line and ends with 1', async () => {
    const { stdout, stderr, code } = await validate(['-f', 'examples/code-index/pipeline.yaml', '-f', '-'], SOURCE);
    expect(code).toBe(1);
    expect(stdout).toBe(
      'standard input:4:73: LiveSource default/docs: spec.intervall: unknown field; did you mean interval?\n' +
        'standard input:4:89: LiveSource default/docs: spec.weight: must be at least 1, not 0\n',
    );
    expect(stderr).toBe('2 problems\n');
  });

  test('prints one JSON object for programs, also where there are problems', async () => {
    const { stdout, code } = await validate(['-o', 'json', '-f', '-'], SOURCE);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      valid: false,
      objects: [],
      problems: [
        {
          file: 'standard input',
          line: 4,
          column: 73,
          object: 'LiveSource default/docs',
          field: 'spec.intervall',
          message: 'unknown field; did you mean interval?',
        },
        {
          file: 'standard input',
          line: 4,
          column: 89,
          object: 'LiveSource default/docs',
          field: 'spec.weight',
          message: 'must be at least 1, not 0',
        },
      ],
      skipped: [],
    });
  });

  test('names the file of a folder that cannot be read, or is no text in UTF-8, and looks at the others', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'a.yaml'), Buffer.from(`\uFEFF${SOURCE}`, 'utf16le'));
    mkdirSync(join(folder, 'b.yaml'));
    writeFileSync(join(folder, 'c.yaml'), SOURCE);
    const { stdout, code } = await validate(['-f', folder]);
    expect(code).toBe(1);
    expect(stdout).toContain(`${folder}/a.yaml: it is no text in UTF-8`);
    expect(stdout).toContain(`${folder}/b.yaml: it is a folder`);
    expect(stdout).toContain(`${folder}/c.yaml:4:73: LiveSource default/docs: spec.intervall`);
  });

  test('says of a step without a value how to write it', async () => {
    const text = (await readFile('examples/code-index/pipeline.yaml', 'utf8')).replace(/- read:.*/, '- read:');
    const { stdout } = await validate(['-f', '-'], text);
    expect(stdout).toContain('must be set (read has no value and counts as absent: write read: {}');
  });

  test('that finds no object at all ends with 1 and says so', async () => {
    const { stderr, code } = await validate(['-f', '-'], '# nothing\n');
    expect({ stderr, code }).toEqual({ stderr: 'there is no Pipeline and no LiveSource in the files\n', code: 1 });
  });

  test('without a file ends with 64 and shows how it is called', async () => {
    const { stderr, code } = await validate([]);
    expect(code).toBe(64);
    expect(stderr).toContain('--file');
  });
});
