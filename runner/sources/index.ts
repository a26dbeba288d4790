export type {
  DirectorySpec,
  FilterSpec,
  GitSpec,
  HttpSpec,
  PostgresSpec,
  PushSpec,
  S3Spec,
  SecretFrom,
  SymlinkPolicy,
} from './common/spec.ts';
export { openSource, type SourceOptions, type SourceSpec } from './open.ts';
export { Database } from './postgres/database.ts';
export { forgetPushedIn } from './push/folder-store.ts';
export { type FindPushSource, pushListener } from './push/listener.ts';
export { SIGNATURE_HEADER, signatureOf, TIME_HEADER } from './push/message.ts';
export { forgetPushed, PostgresPushStore } from './push/postgres-store.ts';
export { type PushServer, servePushes } from './push/server.ts';
export { type PushReply, PushSource } from './push/source.ts';
export type { KeptMessage, PushStore, StoredItem } from './push/store.ts';
