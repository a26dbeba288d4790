export type { DirectorySpec, FilterSpec, SecretFrom, SymlinkPolicy } from './common/spec.ts';
export { openSource, type SourceOptions, type SourceSpec } from './open.ts';
