// The step `module`: elements through a function of user code.
import { type Element, StepError } from '../sdk/index.ts';
import { RunFailure } from './failure.ts';
import { type Called, callUser, functionOf, problemOf } from './module-host.ts';
import type { Nested } from './nested.ts';
import type { CompiledModule } from './plan.ts';
import { DEFAULT_RETRY } from './retry.ts';
import { timed } from './timed.ts';
import type { CallPlace, Workplace } from './workplace.ts';

/** Calls the function, again where a failure's class says so. `index`: of the step, for what a parked attempt goes on with. */
export function callModuleStep(
  step: CompiledModule,
  index: number,
  elements: readonly Element[],
  place: Workplace,
  nested: Nested | undefined,
): Promise<Called<readonly Element[]>> {
  if (nested === undefined) throw new RunFailure({ class: 'internal', message: 'a module was called without a place' });
  const callPlace: CallPlace = { ...place, step, nested };
  const call = async (): Promise<Called<readonly Element[]>> => {
    const { value, rows } = await callUser(callPlace, step.entry, functionOf(step.module, step.entry), elements);
    return { value: checked(value, step), rows };
  };
  const body = () => timed(place.run.times, 'step', 'module', call, elements.length);
  return place.attempts.try(`${index} module`, 'module', step.retry ?? DEFAULT_RETRY, body);
}

function checked(value: unknown, { module, entry }: CompiledModule): readonly Element[] {
  const problem = Array.isArray(value) ? value.map(problemOf).find((one) => one !== undefined) : 'must be in an array';
  if (problem === undefined) return value as readonly Element[];
  throw new StepError('invalid', `${module.name}: what "${entry}" returns as an element ${problem}`);
}
