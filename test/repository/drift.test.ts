// The checks of `make verify` that need a repository: each passes on a clean one and fails on a planted fault, and says where it is.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** An empty repository with these files. */
function repository(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-verify-'));
  folders.push(folder);
  execFileSync('git', ['init', '-q', folder]);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const run = (folder: string, script: string, ...args: string[]) =>
  spawnSync(process.execPath, [resolve('scripts', script), ...args], { cwd: folder, encoding: 'utf8' });

describe('import directions', () => {
  const right = { 'operator/dispatch/runs.ts': "import { AdmissionTree } from '../admission/index.ts';\n" };

  test('a repository without a wrong arrow passes', () => {
    const { status, stdout } = run(repository(right), 'imports.ts');
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'imports: 1 files, 0 wrong arrows\n' });
  });

  test('a wrong arrow fails the check, which names file, line, what is wrong and what would be right', () => {
    const wrong = { 'operator/admission/tree.ts': "\nimport { Runs } from '../dispatch/index.ts';\n" };
    const { status, stderr } = run(repository({ ...right, ...wrong }), 'imports.ts');
    expect(status).toBe(1);
    expect(stderr).toBe(
      'operator/admission/tree.ts:2: operator/admission must not import operator/dispatch/index.ts; it may import nothing but itself (I1)\n',
    );
  });
});

describe('generated files', { timeout: 300_000 }, () => {
  /** A repository in which everything was generated just now. */
  function generatedRepository(): string {
    const folder = repository();
    for (const path of ['buf.yaml', 'buf.gen.yaml', 'runner/protocol/link.proto']) cpSync(path, join(folder, path));
    expect(run(folder, 'generate.ts')).toMatchObject({ status: 0 });
    return folder;
  }

  test('the check names every file that drifted and writes it anew, and passes where none did', () => {
    const folder = generatedRepository();
    appendFileSync(join(folder, 'docs/reference/cli.md'), 'drifted');
    rmSync(join(folder, 'runner/protocol/link_pb.ts'));
    const { status, stderr } = run(folder, 'generate.ts', '--check');
    expect(status).toBe(1);
    expect(stderr.split('\n').sort()).toEqual([
      '',
      'docs/reference/cli.md changed',
      'generated files had drifted from the code: run `make generate` and commit the result',
      'runner/protocol/link_pb.ts changed',
    ]);
    expect(run(folder, 'generate.ts', '--check')).toMatchObject({ status: 0, stderr: '' });
  });
});
