// Settings of a directory source, resolved once; plain data, so that they can be handed to the helper thread.
import { isAbsolute, resolve } from 'node:path';
import { StepError } from '../../sdk/index.ts';
import { durationMs } from '../common/duration.ts';
import type { DirectorySpec, FilterSpec, SymlinkPolicy } from '../common/spec.ts';

export interface DirectorySettings extends FilterSpec {
  /** Absolute path of the root. */
  readonly root: string;
  /** Only what lies below this folder of the root; paths and globs still start at the root. Empty or absent: all. */
  readonly within?: string;
  readonly gitignore: boolean;
  readonly symlinks: SymlinkPolicy;
  /** Set: watch by comparing the tree at this interval. */
  readonly pollMs?: number;
}

/** Resolves a spec; a relative path starts at `baseDir`. Throws StepError (`invalid`). */
export function directorySettings(spec: DirectorySpec, baseDir: string): DirectorySettings {
  if (spec.path === '' || spec.path.includes('\0'))
    throw new StepError('invalid', 'directory.path: write the path of a folder');
  const root = isAbsolute(spec.path) ? resolve(spec.path) : resolve(baseDir, spec.path);
  return {
    root,
    gitignore: spec.gitignore ?? false,
    symlinks: spec.symlinks ?? 'Ignore',
    ...(spec.include && { include: [...spec.include] }),
    ...(spec.exclude && { exclude: [...spec.exclude] }),
    ...(spec.pollInterval !== undefined && { pollMs: Math.max(100, durationMs(spec.pollInterval)) }),
  };
}
