// The dashboard's files. In the repository the page's modules are put together when somebody first opens it; in the bundle they lie ready.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Asset } from '../api/index.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
/** Folder beside the bundle. */
export const BUNDLED = 'dashboard';

/** Pages by path. */
export function dashboardAssets(): ReadonlyMap<string, Asset> {
  const bundled = join(HERE, BUNDLED);
  const isBundled = existsSync(join(bundled, 'app.js'));
  const folder = isBundled ? bundled : join(HERE, 'page');
  const file = (name: string, type: string): Asset => ({ type, body: () => readFile(join(folder, name)) });
  const page = file('index.html', 'text/html; charset=utf-8');
  const script = isBundled ? () => readFile(join(folder, 'app.js')) : once(() => pageScript(join(folder, 'main.ts')));
  return new Map<string, Asset>([
    ['/', page],
    ['/index.html', page],
    ['/style.css', file('style.css', 'text/css; charset=utf-8')],
    ['/icon.svg', file('icon.svg', 'image/svg+xml')],
    ['/app.js', { type: 'text/javascript; charset=utf-8', body: script }],
  ]);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
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
