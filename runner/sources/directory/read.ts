// Reads one file as it is at one moment.
//   R1. Content and version belong together: the file's times are equal before and after the read, else it is read again.
//   R2. Nothing is read that lies behind a link which the policy does not follow, however the tree changes meanwhile: the open
//       file's real path is looked at, not the name that was asked for.
//   R3. A file is read once its last change is older than a tick of the file system's clock, because two writes within one tick carry
//       the same times, and the second would never be seen.
// Opening and reading may wait for a disk and go to Node's pool of threads; what asks an open file about itself never waits and is
// called at once, which costs a tenth.
import { type BigIntStats, closeSync, constants, fstatSync, open, read, readlinkSync, realpathSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../../clock.ts';
import type { ItemContent, ReadOptions } from '../../execute/index.ts';
import { StepError } from '../../sdk/index.ts';
import { codeOf, isGone, reasonOf, show } from '../common/failure.ts';
import { fsPath, keyOf } from '../common/names.ts';
import { tooLarge } from '../common/too-large.ts';
import { versionOf } from './disk.ts';
import type { Tree } from './tree.ts';

/** The coarsest clock of common kernels ticks a hundred times a second. */
const TICK_MS = 10;
const ATTEMPTS_MAX = 4;
// Not blocking: opening a named pipe would wait for a writer.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

type Attempt = ItemContent | 'gone' | 'changed';

const openFile = promisify(open);

/** Reads an item that is a file now. Undefined: it is gone. Throws StepError. */
export async function readFile(
  tree: Tree,
  raw: string,
  clock: Clock,
  options: ReadOptions,
): Promise<ItemContent | undefined> {
  const key = keyOf(raw);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    options.signal.throwIfAborted();
    const result = await once(tree, raw, clock, options);
    options.signal.throwIfAborted();
    if (result === 'gone') return undefined;
    if (result !== 'changed') return result;
    await pause(clock, TICK_MS);
  }
  throw new StepError(
    'transient',
    `${show(key)} was being written each time that it was read; it is tried again later`,
  );
}

async function once(tree: Tree, raw: string, clock: Clock, options: ReadOptions): Promise<Attempt> {
  try {
    const path = tree.path(raw);
    const real = tree.followsLinks ? tree.disk.realpath(path) : path;
    const file = await openFile(fsPath(real), FLAGS);
    try {
      if (!isPermitted(tree, file, real)) return 'gone';
      return await readOpen(file, keyOf(raw), clock, options);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof StepError) throw error;
    // ELOOP: the last name has become a link. ENXIO: it is a socket.
    if (isGone(error) || ['ELOOP', 'ENXIO'].includes(codeOf(error) ?? '')) return 'gone';
    throw unreadable(keyOf(raw), error);
  }
}

/** R2. Linux knows the real path of an open file; elsewhere the path is resolved once more. */
function isPermitted(tree: Tree, file: number, opened: string): boolean {
  const real =
    process.platform === 'linux'
      ? readlinkSync(`/proc/self/fd/${file}`, 'latin1')
      : realpathSync.native(fsPath(opened), 'latin1');
  return tree.permitsRead(real, opened);
}

async function readOpen(file: number, key: string, clock: Clock, options: ReadOptions): Promise<Attempt> {
  const before = fstatSync(file, { bigint: true });
  if (!before.isFile()) return 'gone';
  if (before.size > BigInt(options.maxBytes)) throw tooLarge(key, Number(before.size), options.maxBytes);
  const ageMs = clock.nowMs() - Number(before.ctimeNs / 1_000_000n);
  if (ageMs >= 0 && ageMs <= TICK_MS) {
    await pause(clock, TICK_MS + 1 - ageMs);
    if (versionOf(fstatSync(file, { bigint: true })) !== versionOf(before)) return 'changed';
  }
  return await readAll(file, before);
}

async function readAll(file: number, before: BigIntStats): Promise<Attempt> {
  const bytes = await fill(file, Number(before.size));
  const version = versionOf(fstatSync(file, { bigint: true }));
  return version === versionOf(before) && bytes.length === Number(before.size) ? { version, bytes } : 'changed';
}

/** Reads up to `size` bytes; fewer where the file ended sooner. */
async function fill(file: number, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let length = 0;
  while (length < size) {
    const count = await readSome(file, bytes, length);
    if (count === 0) break;
    length += count;
  }
  return length === size ? bytes : bytes.subarray(0, length);
}

const readSome = (file: number, bytes: Uint8Array, at: number): Promise<number> =>
  new Promise((resolve, reject) => {
    read(file, bytes, at, bytes.length - at, at, (error, count) => (error ? reject(error) : resolve(count)));
  });

const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));

/** Permission is not a matter of trying again; a full table of open files is. */
function unreadable(key: string, error: unknown): StepError {
  const needsPerson = ['EACCES', 'EPERM', 'ENAMETOOLONG'].includes(codeOf(error) ?? '');
  const advice = needsPerson ? '; make it readable for this user, or exclude it' : '';
  return new StepError(
    needsPerson ? 'invalid' : 'transient',
    `${show(key)} cannot be read: ${reasonOf(error)}${advice}`,
    { cause: error },
  );
}
