// What commands ask of a Pipeline that is at work, in this process or in another one.
import { z } from 'zod';
import type { Repaired } from '../../runner/protocol/index.ts';
import { CommandError } from '../exit.ts';
import type { LocalPipeline } from './pipeline.ts';
import type { EndedUpdate, FailedItem } from './report.ts';

export const WORK = z.discriminatedUnion('do', [
  /** One cycle of each of these live sources; of all, where none is named. */
  z.strictObject({
    do: z.literal('refresh'),
    sources: z.array(z.string()).optional(),
    allowDeletes: z.boolean().optional(),
  }),
  /** Every known item again; of these live sources, where some are named. */
  z.strictObject({ do: z.literal('reprocess'), sources: z.array(z.string()).optional() }),
  /** Lets quarantined items run again; all, where no keys are named. */
  z.strictObject({ do: z.literal('release'), keys: z.array(z.string()).optional() }),
  /** Mends what differs between state and targets. */
  z.strictObject({ do: z.literal('repair') }),
]);

export type Work = z.infer<typeof WORK>;

/** What became of it. */
export interface WorkResult {
  readonly ended: readonly EndedUpdate[];
  readonly released?: number;
  readonly repaired?: Repaired;
}

/** Does it, to its end. `failed` is told of the items that failed meanwhile. */
export async function perform(
  pipeline: LocalPipeline,
  work: Work,
  failed: (item: FailedItem) => void = () => {},
): Promise<WorkResult> {
  switch (work.do) {
    case 'refresh': {
      const { sources, allowDeletes } = work;
      const wish = { ...(sources !== undefined && { sources }), ...(allowDeletes === true && { allowDeletes }) };
      return { ended: await pipeline.cycles({ trigger: 'manual', ...wish }, failed) };
    }
    case 'reprocess':
      return { ended: await reprocessed(pipeline, work.sources, failed) };
    case 'release':
      return { ended: [], released: await pipeline.assembly.stores.state.release(undefined, work.keys) };
    case 'repair':
      return { ended: [], repaired: await repair(pipeline) };
  }
}

async function reprocessed(
  pipeline: LocalPipeline,
  sources: readonly string[] | undefined,
  failed: (item: FailedItem) => void,
): Promise<readonly EndedUpdate[]> {
  const wish = { trigger: 'reprocess', reprocess: true };
  if (sources !== undefined) return pipeline.cycles({ ...wish, sources }, failed);
  return [await pipeline.update({ kind: 'pipeline', ...wish }, failed)];
}

async function repair({ host, label }: LocalPipeline): Promise<Repaired> {
  const answer = await host.ask({ ask: 'repair' }).answer;
  if (answer.kind === 'answered') return answer.value as Repaired;
  throw new CommandError(`Pipeline ${label}: ${answer.why}`);
}
