// Writes dist/: the program as JavaScript, for the images and the npm package. In the repository nothing is built.
// Node strips no types below node_modules, so what is installed there has to be JavaScript.
//   One file for the command line, one for each program that a worker thread runs; libraries stay outside.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLED, pageScript } from '../operator/dashboard/index.ts';
import { lean } from './lean.ts';

/** Bundled name and source of every program. Workers find theirs beside the bundle by these names. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  main: 'cli/main.ts',
  // What a user's module gets for `fairlead/sdk`; the engine's own copy, through the shared parts of the bundle.
  sdk: 'runner/sdk/user.ts',
  'steps-worker': 'runner/steps/workers/worker.ts',
  'directory-worker': 'runner/sources/directory/helper-thread.ts',
  'link-thread': 'runner/session/link-thread.ts',
};

/** `image`: for a process that lives long, beside the libraries of the lockfile. `package`: beside whatever npm installs. */
export type Use = 'image' | 'package';

/** Bundles into a folder, which is emptied first. */
export async function bundle(outdir: string, use: Use): Promise<void> {
  rmSync(outdir, { recursive: true, force: true });
  await build({
    entryPoints: PROGRAMS,
    outdir,
    bundle: true,
    // What is loaded when it is needed stays apart, and so do the libraries that it needs.
    splitting: true,
    packages: 'external',
    plugins: use === 'image' ? [lean] : [],
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  await bundlePage(join(outdir, BUNDLED));
  cpSync('runner/steps/embed/models', `${outdir}/models`, { recursive: true }); // the embedder `local` reads it there
}

/** The dashboard's page, ready to be served. */
async function bundlePage(folder: string): Promise<void> {
  const page = 'operator/dashboard/page';
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'app.js'), await pageScript(`${page}/main.ts`));
  for (const file of ['index.html', 'style.css', 'icon.svg']) cpSync(`${page}/${file}`, join(folder, file));
}

if (import.meta.main) await bundle('dist', process.argv.includes('--image') ? 'image' : 'package');
