export type { DirectorySpec, FilterSpec, GitSpec, SecretFrom, SymlinkPolicy } from './common/spec.ts';
export { openSource, type SourceOptions, type SourceSpec } from './open.ts';
