// What a LiveSource's `spec.source` says, as far as this room reads it. The schema (`crds/schema`) defines the same fields for users;
// these are the structural types that its objects satisfy.

/** Duration such as `30s`, in the form of the objects. */
export type DurationText = string;

/** Where a secret value comes from: exactly one of the two. */
export interface SecretFrom {
  readonly secretKeyRef?: { readonly name: string; readonly key: string } | undefined;
  readonly env?: string | undefined;
}

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
