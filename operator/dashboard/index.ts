// The dashboard's files. In the repository the page's modules are put together when somebody first opens it; in the bundle they lie ready.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Asset } from '../api/index.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
/** Folder beside the bundle. */
export const BUNDLED = 'dashboard';

/** Pages by path. */
export async function dashboardAssets(): Promise<ReadonlyMap<string, Asset>> {
  const bundled = join(HERE, BUNDLED);
  const isBundled = existsSync(join(bundled, 'app.js'));
  const folder = isBundled ? bundled : join(HERE, 'page');
  const page = { type: 'text/html; charset=utf-8', body: readFileSync(join(folder, 'index.html')) };
  return new Map<string, Asset>([
    ['/', page],
    ['/index.html', page],
    ['/style.css', { type: 'text/css; charset=utf-8', body: readFileSync(join(folder, 'style.css')) }],
    [
      '/app.js',
      {
        type: 'text/javascript; charset=utf-8',
        body: isBundled ? readFileSync(join(folder, 'app.js')) : await pageScript(join(folder, 'main.ts')),
      },
    ],
  ]);
}

/** The page's modules as one script for browsers. */
export async function pageScript(entry: string): Promise<Uint8Array> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    logLevel: 'silent',
    tsconfigRaw: {},
  });
  return outputFiles[0]!.contents;
}
