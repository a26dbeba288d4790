// Lists the files of a tree by `git ls-tree`, as a stream: memory stays flat whatever the size of the repository.
import type { ListedItem } from '../../execute/index.ts';
import { StepError } from '../../sdk/index.ts';
import { messageOf, show } from '../common/failure.ts';
import type { PathFilter } from '../common/filter.ts';
import type { NoteBook } from '../common/notes.ts';
import { endOf, type GitContext, killGit, startGit } from './process.ts';
import { type ListedEntry, parseListed } from './trees.ts';

const BATCH_MAX = 1_000;

/** Batches of the items below a folder. Throws StepError, or the signal's reason. */
export async function* listTree(
  folder: { readonly tree: string; readonly prefix: string },
  context: GitContext,
  filter: PathFilter,
  notes: NoteBook,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedItem[]> {
  let batch: ListedItem[] = [];
  for await (const records of outputRecords(['ls-tree', '-r', '-l', '-z', folder.tree], context, signal)) {
    for (const record of records) {
      const entry = parseListed(record, folder.prefix);
      if (!filter.admitsFile(entry.key)) continue;
      if (entry.kind === 'file') batch.push({ key: entry.key, version: entry.id, sizeBytes: entry.sizeBytes });
      else notes.add(noteOf(entry));
      if (batch.length < BATCH_MAX) continue;
      yield batch;
      batch = [];
      signal.throwIfAborted();
    }
  }
  if (batch.length > 0) yield batch;
  signal.throwIfAborted();
}

function noteOf(entry: ListedEntry): string {
  if (entry.kind === 'submodule')
    return `${show(entry.key)} is a submodule and is left out; give it a LiveSource of its own`;
  return `${show(entry.key)} is a symbolic link and is not followed`;
}

/** Output of a git command, cut at NUL; whole or an error. */
async function* outputRecords(
  args: readonly string[],
  context: GitContext,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const child = startGit(args, context);
  child.stdin.end();
  const end = endOf(child, context, signal);
  end.catch(() => {});
  try {
    let rest = '';
    for await (const chunk of child.stdout) {
      const records = (rest + (chunk as Buffer).toString('latin1')).split('\0');
      rest = records.pop() ?? '';
      yield records;
    }
    await end;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof StepError
      ? error
      : new StepError('transient', `the repository could not be listed: ${messageOf(error)}`);
  } finally {
    killGit(child);
  }
}
