// The version of this program, from the package.json beside it; the bundle lies as deep as this folder.
import { readFileSync } from 'node:fs';

const packageFile = new URL('../package.json', import.meta.url);

export function programVersion(): string {
  return (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version;
}
