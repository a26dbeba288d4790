// What the operating system refused, in words for people.

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  ENOENT: 'there is no such file or folder',
  EEXIST: 'something of that name is there already',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'too many symbolic links lead to one another',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

const TRIED: Readonly<Record<string, string>> = {
  mkdir: 'made',
  write: 'written',
  read: 'read',
  scandir: 'listed',
  stat: 'looked at',
  unlink: 'removed',
  rename: 'renamed',
};

/** Why a file or folder was refused, such as `permission denied`; undefined for any other error. */
export const systemReason = (error: unknown): string | undefined =>
  REASONS[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];

/** The same as a sentence that names the file; undefined where it names none. */
export function systemFailure(error: unknown): string | undefined {
  const reason = systemReason(error);
  const { path, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return reason === undefined || path === undefined
    ? undefined
    : `${path} cannot be ${TRIED[syscall ?? ''] ?? 'opened'}: ${reason}`;
}
