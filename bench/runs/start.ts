// When a run starts: asked here, answered by the clock of its runner's process, which is the clock of this machine.
import type { Dispatcher } from '../../operator/dispatch/index.ts';
import { machineMs } from './machine-ms.ts';

export interface Start {
  readonly askedAtMs: number;
  /** The engine of a runner was told. */
  readonly startedAtMs: number;
}

/** A per-key update that does nothing but, if it is to, block its runner's thread; resolves when it ended. */
export function startOne(
  dispatcher: Dispatcher,
  source: string,
  key: string,
  input: { readonly blocksMs?: number } = {},
): Promise<Start> {
  const askedAtMs = machineMs();
  return new Promise((resolve, reject) => {
    dispatcher.startUpdate({
      kind: 'key',
      source,
      key,
      trigger: 'bench',
      input: { ...input, eachMs: 0 },
      observer: {
        ended: (_, { outcome }) => {
          if (outcome.kind === 'done') resolve({ askedAtMs, startedAtMs: Number(outcome.value) });
          else reject(new Error(`the update of ${key} ended as ${outcome.kind}`));
        },
      },
    });
  });
}
