// Where worker threads and data files of packages are found, both from the sources and from a bundle.
import { createRequire } from 'node:module';

/** The steps' worker: the source file itself under Node's type stripping, or `steps-worker.js` beside a bundle. */
export function workerUrl(): URL {
  const fromSources = import.meta.url.endsWith('.ts');
  return new URL(fromSources ? './worker.ts' : './steps-worker.js', import.meta.url);
}

/** Path of a file that an installed package ships. */
export function packageFile(specifier: string): string {
  return createRequire(import.meta.url).resolve(specifier);
}
