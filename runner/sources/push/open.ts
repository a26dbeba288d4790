// Makes the push source of a spec.
import type { Clock } from '../../clock.ts';
import { StepError } from '../../sdk/index.ts';
import type { ReadSecret } from '../../secrets.ts';
import { durationMs } from '../common/duration.ts';
import { quantityBytes } from '../common/quantity.ts';
import type { PushSpec } from '../common/spec.ts';
import { FolderPushStore, pushFolder } from './folder-store.ts';
import { PushSource } from './source.ts';
import type { PushStore } from './store.ts';

export interface PushOpenOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly secret: ReadSecret;
  /** Folder that lasts. */
  readonly keepDir?: string;
  /** Store that several runners share, instead of the folder. */
  readonly pushStore?: PushStore;
}

/** Throws StepError (`invalid`) where nothing is there that keeps what is sent. */
export function openPush(spec: PushSpec, options: PushOpenOptions): PushSource {
  const { name, keepDir, clock } = options;
  const store = options.pushStore ?? (keepDir && new FolderPushStore(pushFolder(keepDir, name), clock));
  if (store === undefined || store === '')
    throw new StepError('invalid', `the push source ${name} has no place that keeps what is sent to it`);
  return new PushSource({
    store,
    clock,
    secret: async () => (await options.secret(spec.secretFrom)).trim(),
    maxItemBytes: quantityBytes(spec.maxItemBytes ?? '1Mi'),
    toleranceMs: durationMs(spec.tolerance ?? '5m'),
  });
}
