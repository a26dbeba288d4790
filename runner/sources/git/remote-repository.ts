// A repository elsewhere, kept as a bare copy of one commit in the cache.
//   M1. A look costs one `ls-remote`; objects are fetched only when the ref has moved, and only those that are not here yet.
//   M2. History is not needed: the copy is shallow. A forced push is a move like any other.
//   M3. Looks and fetches of one source happen one after the other; whoever asks meanwhile shares the next one.
//   M4. A copy that cannot be used is thrown away and made again; nothing in it is the only one of its kind.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { makeFolder } from '../../folders.ts';
import { StepError } from '../../sdk/index.ts';
import { messageOf, show } from '../common/failure.ts';
import { orAborted, pause } from '../common/waiting.ts';
import { isObjectId, type Protocol, refCandidates } from './address.ts';
import { ObjectReader } from './objects.ts';
import { type GitContext, git } from './process.ts';
import type { Repository } from './repository.ts';
import { type GitLogin, type Lender, loginAdvice, withLogin } from './secrets.ts';

export interface RemoteOptions extends Lender {
  /** Name of the LiveSource: two sources of one repository keep copies of their own. */
  readonly name: string;
  readonly url: string;
  readonly protocol: Protocol;
  readonly ref: string | undefined;
  /** Commits that are fetched. */
  readonly depth: number;
  readonly login: GitLogin;
  readonly pollMs: number;
  readonly clock: Clock;
}

/** Where the copy keeps its one commit. */
const KEPT = 'refs/fairlead/head';

/** Bounds for a server that keeps the connection and says nothing. */
const LOOK_MAX_MS = 60_000;
const FETCH_MAX_MS = 30 * 60_000;

interface Look {
  /** When it began: what it saw is at least this new. */
  readonly beganMs: number;
  readonly commit: string;
}

/** A look that goes on, and who waits for it; it is stopped when nobody does any more. */
interface RunningLook {
  readonly beganMs: number;
  readonly look: Promise<Look>;
  readonly stop: AbortController;
  waiting: number;
}

interface FetchTarget {
  readonly name: string;
  readonly id: string;
}

export class RemoteRepository implements Repository {
  readonly shown: string;
  readonly context: GitContext;
  readonly objects: ObjectReader;
  readonly #options: RemoteOptions;
  readonly #folder: string;
  #last: Look | undefined;
  #running: RunningLook | undefined;
  #isReady = false;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.shown = options.url.replace(/\/\/[^/@]*@/, '//');
    const identity = createHash('sha256')
      .update(JSON.stringify([options.name, options.url, options.ref ?? '']))
      .digest('hex');
    this.#folder = join(options.cacheDir, `git-${identity.slice(0, 32)}`);
    this.context = { gitDir: this.#folder };
    this.objects = new ObjectReader(this.context);
  }

  async refresh(notBeforeMs: number, signal: AbortSignal): Promise<string> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#last !== undefined && this.#last.beganMs >= notBeforeMs) return this.#last.commit;
      const running = this.#running ?? this.#start();
      try {
        return await this.#join(running, signal);
      } catch (error) {
        // The failure of a look that was too old to count says nothing about the next one.
        if (signal.aborted || running.beganMs >= notBeforeMs) throw error;
      }
    }
  }

  async *movements(signal: AbortSignal): AsyncGenerator<void> {
    const { clock, pollMs } = this.#options;
    for (;;) {
      yield;
      await pause(clock, pollMs, signal);
    }
  }

  async close(): Promise<void> {
    this.#running?.stop.abort(new Error('the source was closed'));
    this.objects.close();
  }

  #start(): RunningLook {
    const beganMs = this.#options.clock.nowMs();
    const stop = new AbortController();
    const look = this.#look(beganMs, stop.signal).finally(() => {
      this.#running = undefined;
    });
    this.#running = { beganMs, look, stop, waiting: 0 };
    return this.#running;
  }

  async #join(running: RunningLook, signal: AbortSignal): Promise<string> {
    running.waiting++;
    try {
      return (await orAborted(running.look, signal)).commit;
    } finally {
      if (--running.waiting === 0) running.stop.abort(new Error('nobody waits for it any more'));
    }
  }

  async #look(beganMs: number, signal: AbortSignal): Promise<Look> {
    const { url, login, protocol } = this.#options;
    try {
      const commit = await withLogin(url, login, this.#options, async (loan) => {
        const context: GitContext = { ...loan, protocols: protocol === 'http' ? ['http', 'https'] : [protocol] };
        const target = await this.#resolve(context, signal);
        await this.#ensure(target, context, signal);
        return await this.#commitOf();
      });
      this.#last = { beganMs, commit };
      return this.#last;
    } catch (error) {
      if (signal.aborted || error instanceof StepError) throw error;
      const why = messageOf(error);
      throw new StepError(
        'transient',
        `the repository ${this.shown} could not be read: ${why}${loginAdvice(why, login)}`,
      );
    }
  }

  /** What to fetch: the full name of the ref and the object that it names now. */
  async #resolve(context: GitContext, signal: AbortSignal): Promise<FetchTarget> {
    const { url, ref } = this.#options;
    if (ref !== undefined && isObjectId(ref)) return { name: ref, id: ref };
    const candidates = refCandidates(ref);
    const listed = await this.#bounded(LOOK_MAX_MS, signal, (bounded) =>
      git(['ls-remote', '--', url, ...candidates], context, bounded),
    );
    const found = new Map(listed.split('\n').map((line) => line.split('\t', 2).reverse() as [string, string]));
    for (const name of candidates) {
      const id = found.get(name);
      if (id !== undefined && isObjectId(id)) return { name, id };
    }
    if (ref === undefined) throw new StepError('transient', `the repository ${this.shown} has no commit yet`);
    throw new StepError(
      'transient',
      `the repository ${this.shown} has no branch or tag ${show(ref)}; nothing is deleted meanwhile`,
    );
  }

  async #ensure(target: FetchTarget, context: GitContext, signal: AbortSignal): Promise<void> {
    if (!this.#isReady) await this.#prepare(target, signal);
    if (await this.#has(target.id)) return;
    try {
      await this.#fetch(target, context, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      // The server answered a moment ago, so the copy may be what is broken (M4).
      await this.#discard();
      await this.#prepare(target, signal);
      await this.#fetch(target, context, signal);
    }
  }

  /** Whether the copy already stands at this object; a tag's object is peeled by the commit that is kept. */
  async #has(id: string): Promise<boolean> {
    return (await this.objects.info(KEPT))?.id === id;
  }

  async #fetch(target: FetchTarget, context: GitContext, signal: AbortSignal): Promise<void> {
    const options = [
      '--quiet',
      '--force',
      '--no-tags',
      '--no-recurse-submodules',
      '--no-write-fetch-head',
      `--depth=${this.#options.depth}`,
      '--update-shallow',
    ];
    const here: GitContext = {
      ...context,
      gitDir: this.#folder,
      config: [...(context.config ?? []), ['gc.pruneExpire', '1.hour.ago']],
    };
    await this.#bounded(FETCH_MAX_MS, signal, (bounded) =>
      git(['fetch', ...options, '--', this.#options.url, `+${target.name}:${KEPT}`], here, bounded),
    );
  }

  /** Runs a command that may wait for a server, up to a bound. */
  async #bounded<T>(maxMs: number, signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const why = `the repository ${this.shown} did not answer within ${maxMs / 1_000} s`;
    const cancel = this.#options.clock.after(maxMs, () => late.abort(new StepError('timeout', why)));
    try {
      return await run(AbortSignal.any([signal, late.signal]));
    } finally {
      cancel();
    }
  }

  async #commitOf(): Promise<string> {
    const commit = await this.objects.info(`${KEPT}^{commit}`);
    if (commit === undefined)
      throw new StepError('invalid', `git.ref: ${show(this.#options.ref ?? 'HEAD')} of ${this.shown} is no commit`);
    return commit.id;
  }

  /** Makes the copy, or takes over that of an earlier process, which may have died with locks held. */
  async #prepare(target: FetchTarget, signal: AbortSignal): Promise<void> {
    makeFolder(this.#options.cacheDir);
    if (existsSync(this.#folder)) await this.#unlock();
    const format = target.id.length === 64 ? 'sha256' : 'sha1';
    await git(['init', '--quiet', '--bare', `--object-format=${format}`, '--', this.#folder], {}, signal);
    this.#isReady = true;
  }

  async #unlock(): Promise<void> {
    for (const folder of [this.#folder, join(this.#folder, 'refs/fairlead')]) {
      const names = await readdir(folder).catch(() => []);
      for (const name of names) if (name.endsWith('.lock')) await rm(join(folder, name), { force: true });
    }
  }

  async #discard(): Promise<void> {
    this.objects.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
