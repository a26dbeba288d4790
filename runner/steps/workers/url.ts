// Where data files of packages are found, both from the sources and from a bundle.
import { createRequire } from 'node:module';

/** Path of a file that an installed package ships. */
export function packageFile(specifier: string): string {
  return createRequire(import.meta.url).resolve(specifier);
}
