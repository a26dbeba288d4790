import { readFileSync } from 'node:fs';

/** Flags of Node with which users run `fairlead`: those of its first line. */
export function nodeFlags(): string[] {
  const [firstLine = ''] = readFileSync(new URL('../cli/bin.mjs', import.meta.url), 'utf8').split('\n');
  return firstLine.split(' ').filter((word) => word.startsWith('--'));
}
