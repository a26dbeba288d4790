// One watch inside the helper thread: by file events, or by comparison where that was asked for or events cannot be had.
import type { Clock } from '../../clock.ts';
import type { SourceChange } from '../../protocol/index.ts';
import { orAborted } from '../common/waiting.ts';
import { pollTree } from './poll.ts';
import type { Tree } from './tree.ts';
import { TooManyFolders, TreeWatch } from './watch.ts';

/** Interval of comparison where the system has no room for file events. */
const FALLBACK_POLL_MS = 2_000;

export interface WatchJobPort {
  armed(): void;
  changes(changes: readonly SourceChange[]): void;
  note(text: string): void;
}

/** Watches until the signal aborts. Throws what ended the watch. */
export async function watchTree(tree: Tree, port: WatchJobPort, clock: Clock, signal: AbortSignal): Promise<void> {
  const { pollMs } = tree.settings;
  if (pollMs !== undefined) return await pollTree(tree, port, clock, pollMs, signal);
  try {
    await watchByEvents(tree, port, clock, signal);
  } catch (error) {
    if (!(error instanceof TooManyFolders)) throw error;
    port.note(
      `${tree.settings.root} has more folders than this system watches (on Linux raise fs.inotify.max_user_watches); it is compared every ${FALLBACK_POLL_MS / 1_000} s instead`,
    );
    // Armed or not until now: after the first comparison a full cycle covers the time in between.
    const armed = () => {
      port.armed();
      port.changes([{ key: '', kind: 'rescan', seenAtMs: clock.nowMs() }]);
    };
    await pollTree(tree, { ...port, armed }, clock, FALLBACK_POLL_MS, signal);
  }
}

async function watchByEvents(tree: Tree, port: WatchJobPort, clock: Clock, signal: AbortSignal): Promise<void> {
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const watch = new TreeWatch(tree, { ...port, failed: (error) => fail(error) }, clock);
  try {
    watch.arm();
    port.armed();
    await orAborted(failed, signal);
  } finally {
    watch.close();
  }
}
