// Names of the files that a Pipeline gets where its spec names none.
import { isAbsolute, join } from 'node:path';
import type { PipelineSpec, TargetSpec } from '../../crds/schema/index.ts';

/** Where files of a Pipeline go. */
export interface Folders {
  /** Relative paths of the spec start here. */
  readonly base: string;
  /** State, clones and targets of which the spec does not say where they are. */
  readonly home: string;
}

export const absolute = (path: string, { base }: Folders) => (isAbsolute(path) ? path : join(base, path));

/** File of an embedded state. */
export function stateFile(spec: PipelineSpec, pipeline: string, folders: Folders): string {
  const path = spec.state.sqlite?.path;
  return path === undefined ? join(folders.home, `${pipeline}.db`) : absolute(path, folders);
}

/** File of a sqlite target; undefined: it shares the state's file. */
export function targetFile(spec: PipelineSpec, target: TargetSpec, folders: Folders): string | undefined {
  const path = target.sqlite?.path;
  if (path !== undefined) return absolute(path, folders);
  return spec.state.sqlite === undefined ? join(folders.home, `${target.name}.db`) : undefined;
}
