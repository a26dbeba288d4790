// Watches a tree by comparing it at an interval, for volumes that send no file events. Keeps a version per item.
import type { Clock } from '../../clock.ts';
import type { SourceChange } from '../../protocol/index.ts';
import { pause } from '../common/waiting.ts';
import type { Tree } from './tree.ts';
import { Walk } from './walk.ts';
import type { WatchPort } from './watch.ts';

/** Compares until the signal aborts. The first comparison arms. Throws what the file system threw for the root. */
export async function pollTree(
  tree: Tree,
  port: Pick<WatchPort, 'changes' | 'note'> & { armed(): void },
  clock: Clock,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, string>();
  compare(tree, known, port, clock);
  port.armed();
  for (;;) {
    await pause(clock, everyMs, signal);
    const changes = compare(tree, known, port, clock);
    if (changes.length > 0) port.changes(changes);
  }
}

/** Brings `known` up to date and gives what was different. What could not be seen is kept as it was. */
function compare(tree: Tree, known: Map<string, string>, port: Pick<WatchPort, 'note'>, clock: Clock): SourceChange[] {
  const seenAtMs = clock.nowMs();
  const walk = new Walk(tree, { note: (text) => port.note(text) });
  const missing = new Set(known.keys());
  const changes: SourceChange[] = [];
  for (const item of walk.items()) {
    if (item === undefined) continue;
    missing.delete(item.key);
    if (known.get(item.key) !== item.version) changes.push({ key: item.key, kind: 'changed', seenAtMs });
    known.set(item.key, item.version);
  }
  const gap = walk.gaps.error(`the folder ${tree.settings.root}`);
  if (gap !== undefined) port.note(gap.message);
  else for (const key of missing) changes.push({ key, kind: 'removed', seenAtMs });
  if (gap === undefined) for (const key of missing) known.delete(key);
  return changes;
}
