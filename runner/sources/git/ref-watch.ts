// Tells when a ref of a repository on this machine may have moved: file events on the few folders that hold HEAD and the ref,
// and a look at an interval as a net under them.
//   R1. The first movement comes once the events are armed.
//   R2. After each event the folders are looked up again: a commit can make the folder of a ref, and HEAD can move to another branch.
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { codeOf } from '../common/failure.ts';
import { Stream } from '../common/stream.ts';

/** A commit writes several files; they are one movement. */
const SETTLE_MS = 2;

export class RefWatch {
  readonly #gitDir: string;
  readonly #commonDir: string;
  readonly #refs: readonly string[];
  readonly #watchers = new Map<string, FSWatcher>();

  /** `gitDir` holds HEAD, `commonDir` the refs; they differ in a linked worktree. */
  constructor(gitDir: string, commonDir: string, refs: readonly string[]) {
    this.#gitDir = gitDir;
    this.#commonDir = commonDir;
    this.#refs = refs;
  }

  async *movements(signal: AbortSignal, clock: Clock, pollMs: number): AsyncGenerator<void> {
    const moved = new Stream<true>();
    let timer: (() => void) | undefined;
    const tellAfter = (delayMs: number) => {
      timer?.();
      timer = clock.after(delayMs, () => moved.push(true));
    };
    try {
      const onEvent = () => tellAfter(SETTLE_MS);
      this.#arm(onEvent);
      moved.push(true);
      for await (const _ of moved.read(signal)) {
        tellAfter(pollMs);
        this.#arm(onEvent);
        yield;
      }
    } finally {
      timer?.();
      for (const watcher of this.#watchers.values()) watcher.close();
      this.#watchers.clear();
    }
  }

  #arm(onEvent: () => void): void {
    for (const folder of this.#folders()) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, onEvent);
        const forget = () => {
          watcher.close();
          this.#watchers.delete(folder);
          onEvent();
        };
        watcher.once('error', forget);
        this.#watchers.set(folder, watcher);
      } catch (error) {
        // The folder of a ref that does not exist yet; the folder above tells when it comes. Without watches left the interval serves.
        if (!['ENOENT', 'ENOTDIR', 'ENOSPC', 'EMFILE'].includes(codeOf(error) ?? '')) throw error;
      }
    }
  }

  /** Folders whose files say where the ref is: that of HEAD, that of packed refs and each one on the way to the ref. */
  #folders(): Set<string> {
    const folders = new Set([this.#gitDir, this.#commonDir, join(this.#commonDir, 'reftable')]);
    for (const ref of this.#refs) {
      const name = ref === 'HEAD' ? this.#branchOfHead() : ref;
      for (let at = dirname(name); at !== '.' && at !== '/'; at = dirname(at)) folders.add(join(this.#commonDir, at));
    }
    return folders;
  }

  #branchOfHead(): string {
    try {
      const head = readFileSync(join(this.#gitDir, 'HEAD'), 'utf8');
      return head.startsWith('ref: ') ? head.slice(5).trim() : 'HEAD';
    } catch {
      return 'HEAD';
    }
  }
}
