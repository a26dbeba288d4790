// Which files a command works on that is called without -f.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { recentFile, recentFiles } from './recent.ts';
import type { Environment } from './secrets.ts';

/** File that is taken where a command is called without -f. */
export const DEFAULT_FILE = 'fairlead.yaml';

/** Where a command is called. */
export interface Here {
  readonly cwd: string;
  readonly environment: Environment;
}

/** `fairlead.yaml`, else what was run last in this folder; undefined: neither is there. */
export function filesHere({ cwd, environment }: Here): readonly string[] | undefined {
  if (existsSync(join(cwd, DEFAULT_FILE))) return [DEFAULT_FILE];
  return recentFiles(recentFile(environment), cwd);
}
