// What a LiveSource's `spec.source` says, as far as this room reads it. The schema (`crds/schema`) defines the same fields for users;
// these are the structural types that its objects satisfy.
import type { SecretFrom } from '../../secrets.ts';

/** Duration such as `30s`, in the form of the objects. */
export type DurationText = string;

export type { SecretFrom };

/** Which files of a tree are items. Globs are matched against the path below the root; a folder that `exclude` matches is left out whole. */
export interface FilterSpec {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/**
 * What happens to symbolic links. `Ignore`: they are no items and are not entered. `FollowInside`: followed where they lead to
 * something below the root. `Follow`: followed anywhere that the process may read.
 */
export type SymlinkPolicy = 'Ignore' | 'FollowInside' | 'Follow';

export interface DirectorySpec extends FilterSpec {
  readonly path: string;
  /** Honour .gitignore files, those above the root within the same repository included. */
  readonly gitignore?: boolean | undefined;
  /** Default `Ignore`. */
  readonly symlinks?: SymlinkPolicy | undefined;
  /** Watch by comparing the tree at this interval instead of by file events; for network volumes. */
  readonly pollInterval?: DurationText | undefined;
}

export interface GitSpec extends FilterSpec {
  /** https, ssh, git or file address, user@host:path, or a folder on this machine. */
  readonly url: string;
  /** Branch, tag or commit. Absent: the default branch of a remote, the current commit of a folder. */
  readonly ref?: string | undefined;
  /** Folder within the repository that the items are taken from. */
  readonly path?: string | undefined;
  /**
   * The files of a checkout on this machine as they lie there, edits that are not committed included, by the rules of the
   * directory source with `gitignore`.
   */
  readonly worktree?: boolean | undefined;
  /** Commits that are fetched. Default 1. */
  readonly depth?: number | undefined;
  /** How often a watch looks at the remote. */
  readonly pollInterval?: DurationText | undefined;
  readonly auth?: GitAuth | undefined;
}

/** How to prove who one is. */
export interface GitAuth {
  readonly username?: string | undefined;
  readonly tokenFrom?: SecretFrom | undefined;
  readonly sshKeyFrom?: SecretFrom | undefined;
  readonly knownHostsFrom?: SecretFrom | undefined;
}

/** Exactly one of `sitemap` and `list`. */
export interface HttpSpec extends FilterSpec {
  readonly sitemap?: string | undefined;
  readonly list?: readonly string[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly tokenFrom?: SecretFrom | undefined;
  readonly concurrency?: number | undefined;
  readonly ignoreRobots?: boolean | undefined;
}

export interface PostgresSpec {
  readonly urlFrom: SecretFrom;
  /** Default `public`. */
  readonly schema?: string | undefined;
  readonly table: string;
  /** Columns that identify a row. */
  readonly key: readonly string[];
  /** Column with the text or bytes of the item. */
  readonly content: string;
  readonly fields?: readonly string[] | undefined;
  /** Column that grows with each change; without it the version is a hash of what is read. */
  readonly watermark?: string | undefined;
  /** Channel of NOTIFY whose payload is a key; an empty payload asks for a full cycle. */
  readonly channel?: string | undefined;
}

export interface PushSpec {
  readonly secretFrom: SecretFrom;
  /** Quantity of bytes such as `1Mi`. Default 1Mi. */
  readonly maxItemBytes?: string | number | undefined;
  /** How far the time of a signature may be from ours. Default 5m. */
  readonly tolerance?: DurationText | undefined;
}

export interface S3Spec extends FilterSpec {
  readonly bucket: string;
  readonly prefix?: string | undefined;
  readonly region?: string | undefined;
  /** Address of another server than that of AWS. */
  readonly endpoint?: string | undefined;
  readonly pathStyle?: boolean | undefined;
  readonly accessKeyIdFrom?: SecretFrom | undefined;
  readonly secretAccessKeyFrom?: SecretFrom | undefined;
}
