// Where a repository is, and what may be said about it. Pure. The text comes from an object that a person wrote; nothing of it may
// be read by git or ssh as an option, a helper or a command.
//   U1. Only folders and the schemes https, http, ssh, git and file (and user@host:path) pass; `ext::`, `fd::` and the like do not.
//   U2. No part that reaches a command line starts with a dash; no address carries a password.
import { isAbsolute, resolve } from 'node:path';
import { StepError } from '../../sdk/index.ts';
import { show } from '../common/failure.ts';

/** A repository on this machine is read where it lies; any other is fetched into the cache. */
export type GitAddress =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'remote'; readonly url: string; readonly protocol: Protocol };

export type Protocol = 'https' | 'http' | 'ssh' | 'git' | 'file';

const PROTOCOLS: ReadonlySet<string> = new Set(['https', 'http', 'ssh', 'git', 'file']);
// user@host:path, where the path does not look like the port of an address.
const SCP_LIKE = /^(?:[A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*:(?!:|\/\/)[^\s]+$/;
const CONTROL = /\p{Cc}/u;

/** Reads `git.url`. Relative folders start at `baseDir`. Throws StepError (`invalid`) that never repeats a password. */
export function gitAddress(url: string, baseDir: string): GitAddress {
  if (CONTROL.test(url) || url.startsWith('-') || url === '')
    throw refused('write an https, ssh or file address, or a folder');
  if (isAbsolute(url) || url === '.' || url === '..' || /^\.{1,2}\//.test(url))
    return { kind: 'folder', path: resolve(baseDir, url) };
  if (url.includes('://')) return remote(url);
  if (SCP_LIKE.test(url)) return { kind: 'remote', url, protocol: 'ssh' };
  throw refused(`${show(url)} is no https, ssh or file address and no folder (a folder starts with / or .)`);
}

function remote(url: string): GitAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const protocol = parsed?.protocol.slice(0, -1) ?? '';
  if (parsed === undefined || !PROTOCOLS.has(protocol))
    throw refused('only https, http, ssh, git and file addresses are known');
  if (parsed.password !== '')
    throw refused('the address holds a password; put it into a Secret and name it in git.auth.tokenFrom');
  if (parsed.hostname.startsWith('-') || parsed.username.startsWith('-'))
    throw refused('host and user may not start with a dash');
  if (protocol === 'file' && parsed.hostname !== '' && parsed.hostname !== 'localhost')
    throw refused('a file address has no host: write file:///path');
  return { kind: 'remote', url, protocol: protocol as Protocol };
}

const refused = (why: string): StepError => new StepError('invalid', `git.url: ${why}`);

const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** Whether a text is the full name of an object. */
export const isObjectId = (text: string): boolean => OBJECT_ID.test(text);

/** Checks `git.ref` by the rules that git has for names of refs. Throws StepError (`invalid`). */
export function checkedRef(ref: string): string {
  const parts = ref.split('/');
  const isFine =
    /^[A-Za-z0-9_][^\s~^:?*[\\]*$/.test(ref) &&
    !CONTROL.test(ref) &&
    !ref.includes('..') &&
    !ref.includes('@{') &&
    !ref.endsWith('.') &&
    parts.every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
  if (!isFine) throw new StepError('invalid', `git.ref: ${show(ref)} is no branch, tag or commit`);
  return ref;
}

/** Full names that a ref may stand for, the likeliest first: a branch goes before a tag of the same name. */
export function refCandidates(ref: string | undefined): string[] {
  if (ref === undefined || ref === 'HEAD') return ['HEAD'];
  return ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
}

/** Checks `git.path`: a folder below the top of the repository, without a slash at the ends. Empty: all of it. */
export function checkedFolder(path: string | undefined): string {
  const folder = (path ?? '').replace(/^(\.?\/)+/, '').replace(/\/+$/, '');
  if (folder === '' || folder === '.') return '';
  if (folder.split('/').some((name) => name === '' || name === '.' || name === '..') || folder.includes('\0'))
    throw new StepError('invalid', `git.path: ${show(path ?? '')} is no folder within the repository`);
  return folder;
}
