// Cards of this machine, for the steps of a Pipeline that ask for some.
import { allSteps, milliCardsOf } from '../../crds/schema/index.ts';
import { countCards } from '../../runner/gpus.ts';
import { CommandError } from '../exit.ts';
import type { PipelineObjects } from './objects.ts';
import type { Environment } from './secrets.ts';

/** Cards that the one local runner has. Throws CommandError where a step could never get what it asks for. */
export async function localCards({ label, pipeline }: PipelineObjects, environment: Environment): Promise<number> {
  const needed = Math.ceil(milliCardsOf(allSteps(pipeline.value.spec.component)) / 1000);
  if (needed === 0) return 0;
  const cards = await countOrRefuse(environment);
  if (needed <= cards) return cards;
  const has = cards === 0 ? 'no card was found here' : `this machine has ${cards}`;
  const wants = needed === 1 ? 'a card' : `${needed} cards`;
  throw new CommandError(
    `Pipeline ${label}: a step asks for ${wants} (gpu), and ${has}. Where its server or program needs none, FAIRLEAD_NUM_GPUS=${needed} stands in for them`,
  );
}

async function countOrRefuse(environment: Environment): Promise<number> {
  try {
    return await countCards(environment);
  } catch (error) {
    throw error instanceof RangeError ? new CommandError(error.message) : error;
  }
}
