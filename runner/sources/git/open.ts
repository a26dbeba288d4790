// Makes the git source of a spec.
import type { Source } from '../../execute/index.ts';
import { durationMs } from '../common/duration.ts';
import { pathFilter } from '../common/filter.ts';
import type { GitSpec } from '../common/spec.ts';
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
  const ref = spec.ref === undefined ? undefined : checkedRef(spec.ref);
  const pollMs = durationMs(spec.pollInterval ?? POLL_DEFAULT);
  return new GitSource({
    filter: pathFilter(spec),
    folder: checkedFolder(spec.path),
    clock: options.clock,
    open: (signal) => openRepository(address, spec, { ref, pollMs, ...options }, signal),
  });
}

async function openRepository(
  address: GitAddress,
  spec: GitSpec,
  options: GitOpenOptions & { readonly ref: string | undefined; readonly pollMs: number },
  signal: AbortSignal,
): Promise<Repository> {
  if (address.kind === 'folder') return await FolderRepository.open({ ...options, path: address.path }, signal);
  const { tokenFrom, sshKeyFrom, knownHostsFrom } = spec;
  const login = { username: spec.username ?? 'git', tokenFrom, sshKeyFrom, knownHostsFrom };
  return new RemoteRepository({ ...options, url: address.url, protocol: address.protocol, login });
}
