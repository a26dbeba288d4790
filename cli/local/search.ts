// Searches a Pipeline's rows. It only reads, so it works beside a `fairlead dev` that is at work.
import { allSteps, type EmbedSpec, targetOf } from '../../crds/schema/index.ts';
import { openStores } from '../../runner/assemble/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { NothingIndexed } from '../../runner/database/index.ts';
import type { Target } from '../../runner/execute/index.ts';
import { hiddenIn, type ReadSecret, Secrets } from '../../runner/secrets.ts';
import { openStepHost } from '../../runner/steps/index.ts';
import { CommandError } from '../exit.ts';
import { type Answer, answersOf } from './answers.ts';
import { forPeople, secretsOf } from './assembly.ts';
import type { PipelineObjects } from './objects.ts';

export interface Question {
  readonly text: string;
  readonly limit: number;
  /** Name of a target; absent: the first that can search. */
  readonly target?: string;
}

/** Answers of a Pipeline's target, best first. Throws CommandError where nothing was indexed yet. */
export async function search(objects: PipelineObjects, question: Question): Promise<readonly Answer[]> {
  const { label, folders, pipeline } = objects;
  const { spec } = pipeline.value;
  const secrets = new Secrets(secretsOf(objects, process.env));
  try {
    const secret = secrets.read;
    const options = { pipeline: label, folders, clock: systemClock, secret, readOnly: true, epoch: 'next' as const };
    const stores = await openStores(spec, options);
    try {
      const target = targetFor(stores.targets, question.target, label);
      const vector = await questionVector(objects, target.name, question.text, secret);
      const hits = await target.search!({ text: question.text, limit: question.limit, ...(vector && { vector }) });
      return answersOf(hits, label);
    } finally {
      await stores.close();
    }
  } catch (error) {
    if (error instanceof NothingIndexed)
      throw new CommandError(`Pipeline ${label}: nothing was indexed yet; run fairlead dev first`);
    throw forPeople(hiddenIn(error, secrets.hide), label);
  }
}

function targetFor(targets: readonly Target[], name: string | undefined, label: string): Target {
  const able = targets.filter((target) => target.search !== undefined);
  const target = name === undefined ? able[0] : able.find((one) => one.name === name);
  if (target !== undefined) return target;
  const names = able.map((one) => one.name).join(', ') || 'none';
  throw new CommandError(
    name === undefined
      ? `Pipeline ${label} has no target that can be searched`
      : `no target named ${name} can be searched; there are ${names}`,
  );
}

/** The question's vector, made as the rows' vectors are made; undefined: the rows have none. */
async function questionVector(
  objects: PipelineObjects,
  target: string,
  text: string,
  secret: ReadSecret,
): Promise<Float32Array | undefined> {
  const embed = embedBefore(objects, target);
  if (embed === undefined || widthOf(objects, target) === undefined) return undefined;
  const steps = openStepHost({ clock: systemClock, secret, threads: 1 });
  try {
    const width = widthOf(objects, target);
    const embedder = await steps.openQueryEmbedder(embed, width === undefined ? {} : { vectorDimensions: width });
    try {
      return await embedder.embed(text, new AbortController().signal);
    } finally {
      await embedder.close();
    }
  } finally {
    await steps.close();
  }
}

/** Width of the vectors that the target stores; undefined: it stores none. */
function widthOf({ pipeline }: PipelineObjects, name: string): number | undefined {
  const spec = pipeline.value.spec.targets.find((target) => target.name === name);
  const settings = spec && targetOf(spec).settings;
  return settings && 'vector' in settings ? settings.vector?.dimensions : undefined;
}

/** The last `embed` before the step that exports to the target, in the order in which steps run. */
function embedBefore({ pipeline }: PipelineObjects, target: string): EmbedSpec | undefined {
  let last: EmbedSpec | undefined;
  for (const step of allSteps(pipeline.value.spec.component)) {
    if (step.embed !== undefined) last = step.embed;
    if (step.export?.target === target) return last;
  }
  return undefined;
}
