// A repository on this machine, read where it lies. Only what is committed is seen; the directory source with `gitignore` reads
// work in progress. Nothing is written into it, and nothing that its own settings name is run.
import { existsSync } from 'node:fs';
import type { Clock } from '../../clock.ts';
import { StepError } from '../../sdk/index.ts';
import { messageOf, show } from '../common/failure.ts';
import { isObjectId, refCandidates } from './address.ts';
import { ObjectReader } from './objects.ts';
import { type GitContext, git } from './process.ts';
import { RefWatch } from './ref-watch.ts';
import type { Repository } from './repository.ts';

export interface FolderOptions {
  readonly path: string;
  readonly ref: string | undefined;
  readonly pollMs: number;
  readonly clock: Clock;
}

export class FolderRepository implements Repository {
  readonly shown: string;
  readonly context: GitContext;
  readonly objects: ObjectReader;
  readonly #options: FolderOptions;
  readonly #commonDir: string;

  private constructor(options: FolderOptions, gitDir: string, commonDir: string) {
    this.#options = options;
    this.#commonDir = commonDir;
    this.shown = options.path;
    this.context = { gitDir };
    this.objects = new ObjectReader(this.context);
  }

  /** Finds the repository that a folder is or lies in. Throws StepError. */
  static async open(options: FolderOptions, signal: AbortSignal): Promise<FolderRepository> {
    if (!existsSync(options.path))
      throw new StepError('transient', `git.url: the folder ${options.path} does not exist`);
    try {
      const args = ['-C', options.path, 'rev-parse', '--path-format=absolute', '--git-dir', '--git-common-dir'];
      const [gitDir = '', commonDir = ''] = Buffer.from(await git(args, {}, signal), 'latin1')
        .toString('utf8')
        .split('\n');
      return new FolderRepository(options, gitDir, commonDir);
    } catch (error) {
      if (error instanceof StepError || signal.aborted) throw error;
      throw new StepError('invalid', `git.url: ${options.path} cannot be read as a repository: ${messageOf(error)}`);
    }
  }

  async refresh(_notBeforeMs: number, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    for (const name of this.#names()) {
      const commit = await this.objects.info(`${name}^{commit}`);
      if (commit !== undefined) return commit.id;
    }
    const { ref, path } = this.#options;
    if (ref === undefined)
      throw new StepError('transient', `the repository ${path} has no commit on its current branch yet`);
    throw new StepError(
      'transient',
      `the repository ${path} has no branch, tag or commit ${show(ref)}; nothing is deleted meanwhile`,
    );
  }

  async *movements(signal: AbortSignal): AsyncGenerator<void> {
    const watch = new RefWatch(this.context.gitDir ?? '', this.#commonDir, refCandidates(this.#options.ref));
    yield* watch.movements(signal, this.#options.clock, this.#options.pollMs);
  }

  async close(): Promise<void> {
    this.objects.close();
  }

  #names(): string[] {
    const { ref } = this.#options;
    const names = refCandidates(ref);
    if (ref === undefined || ref.startsWith('refs/')) return names;
    // A checkout often has a branch of its remote without having it itself.
    const others = [`refs/remotes/origin/${ref}`];
    return isObjectId(ref) || /^[0-9a-f]{7,}$/.test(ref) ? [...names, ref] : [...names, ...others];
  }
}
