export type { DirectorySpec, FilterSpec, GitSpec, HttpSpec, SecretFrom, SymlinkPolicy } from './common/spec.ts';
export { openSource, type SourceOptions, type SourceSpec } from './open.ts';
