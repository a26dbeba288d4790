// Has work done on Pipelines: by the process that is at work on one, else by this one.
import { askAtWork } from './control.ts';
import type { PipelineObjects } from './objects.ts';
import type { Reporter } from './report.ts';
import { Session } from './session.ts';
import { perform, type Work, type WorkResult } from './work.ts';

/** Results in the order of `all`. */
export async function workOn(
  all: readonly PipelineObjects[],
  workOf: (one: PipelineObjects) => Work,
  reporter: Reporter,
): Promise<readonly WorkResult[]> {
  const results = new Map<PipelineObjects, WorkResult>();
  await Promise.all(
    all.map(async (one) => {
      const result = await handOver(one, workOf(one), reporter);
      if (result !== undefined) results.set(one, result);
    }),
  );
  const own = all.filter((one) => !results.has(one));
  if (own.length > 0)
    await new Session(reporter).run(own, async (pipelines) => {
      await Promise.all(
        pipelines.map(async (pipeline) => {
          results.set(pipeline.objects, await perform(pipeline, workOf(pipeline.objects)));
        }),
      );
    });
  return all.map((one) => results.get(one)!);
}

async function handOver(one: PipelineObjects, work: Work, reporter: Reporter): Promise<WorkResult | undefined> {
  const result = await askAtWork(one, work, process.env, {
    taken: (pid) => reporter.note(`Pipeline ${one.label} is at work in process ${pid}, which does it`),
    failed: (item) => reporter.failed(item),
  });
  for (const update of result?.ended ?? []) reporter.ended(update);
  return result;
}
