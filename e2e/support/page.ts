// The commands of a page of docs/, in order, as a reader would type them.
import { readFileSync } from 'node:fs';

export interface PageBlock {
  /** Last heading above it. */
  readonly heading: string;
  readonly commands: string;
}

/** Every block of the page that is marked `sh`. */
export function commandsOf(page: string): readonly PageBlock[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const blocks: PageBlock[] = [];
  let heading = '';
  let open: string[] | undefined;
  for (const line of text.split('\n')) {
    if (open === undefined && line.startsWith('#')) heading = line.replace(/^#+ /, '');
    if (open === undefined && line === '```sh') open = [];
    else if (open !== undefined && line === '```') {
      blocks.push({ heading, commands: open.join('\n') });
      open = undefined;
    } else open?.push(line);
  }
  return blocks;
}
