// Where the process listens that works on a Pipeline's state, and how it is reached.
import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stateFile } from '../../runner/assemble/index.ts';
import { makeFolder } from '../../runner/folders.ts';
import { CommandError } from '../exit.ts';
import { secretsOf } from './assembly.ts';
import type { PipelineObjects } from './objects.ts';
import type { Environment } from './secrets.ts';

/** Path of its socket: of the state, whichever files name it. */
export async function controlPath(objects: PipelineObjects, environment: Environment): Promise<string> {
  const { label, folders, pipeline } = objects;
  const { state } = pipeline.value.spec;
  const place =
    state.postgres === undefined
      ? stateFile(pipeline.value.spec, label, folders)
      : `${await secretsOf(objects, environment)(state.postgres.urlFrom)} ${state.postgres.schema} ${label}`;
  const name = createHash('sha256').update(place).digest('hex').slice(0, 24);
  return join(controlFolder(environment), `${name}.sock`);
}

/** Short, as the paths of sockets must be. */
const controlFolder = (environment: Environment): string =>
  join(environment.XDG_RUNTIME_DIR || tmpdir(), `fairlead-${process.getuid?.() ?? 'user'}`);

/** Makes the folder of the sockets. Throws CommandError where others could reach them (C1). */
export function makeControlFolder(environment: Environment): void {
  const folder = controlFolder(environment);
  makeFolder(folder, 0o700);
  const { uid, mode } = lstatSync(folder);
  if (uid === (process.getuid?.() ?? uid) && (mode & 0o077) === 0) return;
  throw new CommandError(`the folder ${folder} is not yours alone: remove it, or set XDG_RUNTIME_DIR to one that is`);
}

/** Undefined: nobody listens there. */
export function reach(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}
