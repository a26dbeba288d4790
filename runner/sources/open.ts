// Makes the source that a LiveSource's `spec.source` names.
import type { Clock } from '../clock.ts';
import type { Source } from '../execute/index.ts';
import { StepError } from '../sdk/index.ts';
import type { ReadSecret } from '../secrets.ts';
import { LazySource, LazyWatchedSource } from './common/lazy.ts';
import type { DirectorySpec, GitSpec, HttpSpec, PostgresSpec, PushSpec, S3Spec } from './common/spec.ts';
import { directorySettings } from './directory/settings.ts';
import { DirectorySource } from './directory/source.ts';
import { openGit } from './git/open.ts';
import { openPush } from './push/open.ts';
import type { PushStore } from './push/store.ts';

/** Exactly one kind is set. */
export interface SourceSpec {
  readonly directory?: DirectorySpec | undefined;
  readonly git?: GitSpec | undefined;
  readonly http?: HttpSpec | undefined;
  readonly postgres?: PostgresSpec | undefined;
  readonly push?: PushSpec | undefined;
  readonly s3?: S3Spec | undefined;
}

export interface SourceOptions {
  /** Name of the LiveSource. */
  readonly name: string;
  readonly clock: Clock;
  /** Folder that sources may fill with what can be fetched again, such as clones. Made if it is missing. */
  readonly cacheDir: string;
  /** Folder that lasts, for what nobody can be asked for again (items of a push source). Absent: such sources are refused. */
  readonly keepDir?: string;
  /** Where pushed items are kept instead, when several runners share them. */
  readonly pushStore?: PushStore;
  /** Where relative paths of the spec start. */
  readonly baseDir: string;
  /** Value of a secret, read anew at each call, so that a rotated one is picked up. Throws a message for people that names the reference. */
  readonly secret: ReadSecret;
}

/** Opens a source. Nothing outside is touched before its first listing. Throws StepError (`invalid`) for a spec that cannot work. */
export function openSource(spec: SourceSpec, options: SourceOptions): Source {
  if (spec.directory) return new DirectorySource(directorySettings(spec.directory, options.baseDir), options);
  if (spec.git) return openGit(spec.git, options);
  const { http, postgres, s3 } = spec;
  if (http) return new LazySource(async () => (await import('./http/open.ts')).openHttp(http, options));
  if (postgres) {
    const load = async () => (await import('./postgres/open.ts')).openPostgres(postgres, options);
    const canWatch = postgres.channel !== undefined || postgres.watermark !== undefined;
    return canWatch ? new LazyWatchedSource(load) : new LazySource(load);
  }
  if (s3) return new LazySource(async () => (await import('./s3/open.ts')).openS3(s3, options));
  if (spec.push) return openPush(spec.push, options);
  throw new StepError('invalid', `the source of ${options.name} names no kind that this runner knows`);
}
