export type {
  DirectorySpec,
  FilterSpec,
  GitSpec,
  HttpSpec,
  PostgresSpec,
  SecretFrom,
  SymlinkPolicy,
} from './common/spec.ts';
export { openSource, type SourceOptions, type SourceSpec } from './open.ts';
