// Where the API of a process of this machine is: written by the process that serves it, read by the commands that ask it.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../runner/folders.ts';
import { isRunning } from '../../runner/pid.ts';
import { recentFile, recentFiles } from '../local/recent.ts';
import type { Environment } from '../local/secrets.ts';

export interface ApiPlace {
  readonly url: string;
  /** Needed to act. */
  readonly token?: string;
  /** Process that serves. */
  readonly pid?: number;
  /** `dev`: it has the state of its Pipelines itself. `operator`: its runners have. */
  readonly by?: Server;
}

export type Server = 'dev' | 'operator';

const FILE = 'api.json';
/** Folders, below the one a command is called in, in which `dev` and the standalone operator write. */
const FOLDERS = ['.fairlead', join('.fairlead', 'operator')];

export const newToken = (): string => randomBytes(24).toString('base64url');

/** Tells commands of this user where the API is. The file holds the token, so nobody else may read it. */
export function announce(folder: string, place: ApiPlace): { readonly file: string; withdraw(): void } {
  const file = join(folder, FILE);
  makeFolder(dirname(file));
  rmSync(file, { force: true });
  writeFileSync(file, `${JSON.stringify({ ...place, pid: process.pid })}\n`, { mode: 0o600 });
  return {
    file,
    withdraw: () => {
      if (read(file)?.pid === process.pid) rmSync(file, { force: true });
    },
  };
}

/** What serves in a folder; undefined: nothing that still runs. */
export function announcedIn(folder: string): ApiPlace | undefined {
  const place = read(join(folder, FILE));
  return place?.pid !== undefined && isRunning(place.pid) ? place : undefined;
}

/** What serves for a folder in which commands are called: in it, or where the files lie that were run from it last. */
export function announcedFor(folder: string, environment: Environment = process.env): ApiPlace | undefined {
  const files = recentFiles(recentFile(environment), resolve(folder)) ?? [];
  const folders = [folder, ...files.map((file) => folderOf(resolve(folder, file)))];
  for (const one of folders) {
    for (const below of ['', ...FOLDERS]) {
      const place = announcedIn(join(one, below));
      if (place !== undefined) return place;
    }
  }
  return undefined;
}

const folderOf = (path: string): string =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : dirname(path);

function read(file: string): ApiPlace | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ApiPlace;
  } catch {
    return undefined; // half written by a process that just starts
  }
}
