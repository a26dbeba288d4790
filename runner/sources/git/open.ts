// Makes the git source of a spec.
import type { Source } from '../../execute/index.ts';
import { StepError } from '../../sdk/index.ts';
import { durationMs } from '../common/duration.ts';
import { filterWithin, pathFilter } from '../common/filter.ts';
import type { GitSpec } from '../common/spec.ts';
import { directorySettings } from '../directory/settings.ts';
import { DirectorySource } from '../directory/source.ts';
import { checkedFolder, checkedRef, type GitAddress, gitAddress } from './address.ts';
import { FolderRepository } from './folder-repository.ts';
import { type RemoteOptions, RemoteRepository } from './remote-repository.ts';
import type { Repository } from './repository.ts';
import { GitSource } from './source.ts';

export type GitOpenOptions = Pick<RemoteOptions, 'name' | 'clock' | 'cacheDir' | 'secret'> & {
  readonly baseDir: string;
};

/** How often a watch asks a remote, or looks at a folder although no event came. */
const POLL_DEFAULT = '30s';

/** Opens a git source. Throws StepError (`invalid`) for what cannot be an address, a ref or a folder. */
export function openGit(spec: GitSpec, options: GitOpenOptions): Source {
  const address = gitAddress(spec.url, options.baseDir);
  if (spec.worktree === true) return openWorktree(address, spec, options);
  const ref = spec.ref === undefined ? undefined : checkedRef(spec.ref);
  const folder = checkedFolder(spec.path);
  const pollMs = durationMs(spec.pollInterval ?? POLL_DEFAULT);
  return new GitSource({
    filter: filterWithin(folder, pathFilter(spec)),
    folder,
    clock: options.clock,
    open: (signal) => openRepository(address, spec, { ref, pollMs, ...options }, signal),
  });
}

/** Work in progress is files on disk: the directory source reads and watches them. */
function openWorktree(address: GitAddress, spec: GitSpec, options: GitOpenOptions): Source {
  if (address.kind !== 'folder' || spec.ref !== undefined)
    throw new StepError('invalid', 'git.worktree needs a folder as url, and no ref: what is checked out there is read');
  const { include, exclude } = spec;
  const settings = directorySettings({ path: address.path, include, exclude, gitignore: true }, options.baseDir);
  return new DirectorySource({ ...settings, within: checkedFolder(spec.path) }, options);
}

async function openRepository(
  address: GitAddress,
  spec: GitSpec,
  options: GitOpenOptions & { readonly ref: string | undefined; readonly pollMs: number },
  signal: AbortSignal,
): Promise<Repository> {
  if (address.kind === 'folder') return await FolderRepository.open({ ...options, path: address.path }, signal);
  const login = { ...spec.auth, username: spec.auth?.username ?? 'git' };
  return new RemoteRepository({
    ...options,
    url: address.url,
    protocol: address.protocol,
    depth: spec.depth ?? 1,
    login,
  });
}
