// Which class of runner executes a component, and what its steps ask of that class's cards.
import type { ComponentSpec, PipelineSpec } from './pipeline.ts';
import type { FieldProblem } from './problems.ts';
import { quantityMilli } from './quantity.ts';
import type { RunnerSpec } from './runners.ts';
import type { NestedStepSpec, StepSpec } from './steps.ts';

type AnyStepSpec = StepSpec | NestedStepSpec;

/** Steps that run as one component, and the class that they name. */
interface Component {
  readonly steps: readonly AnyStepSpec[];
  readonly runner?: string | undefined;
}

const WHOLE_CARD_MILLI = 1000;

/** The class that a component runs on: the one that it names; else, with a card, the first with cards; else the first. */
export function runnerClassOf({ runners }: PipelineSpec, { steps, runner }: Component): RunnerSpec | undefined {
  if (runner !== undefined) return runners.find(({ name }) => name === runner);
  const needsCard = steps.some(({ gpu }) => gpu !== undefined);
  return needsCard ? runners.find(({ gpus }) => gpus > 0) : runners[0];
}

/** Largest share that one of the steps asks for, in thousandths of a card; 0: none asks. */
export function milliCardsOf(steps: readonly AnyStepSpec[]): number {
  return Math.max(0, ...steps.map(({ gpu }) => (gpu === undefined ? 0 : quantityMilli(gpu))));
}

/** Whether some steps need whole cards and others parts of one: parts are then put together, so that cards stay whole. */
export function mixesCards({ component }: PipelineSpec): boolean {
  const shares = componentsOf(component).flatMap(({ steps }) => steps.map((step) => milliCardsOf([step])));
  return shares.some((milli) => milli >= WHOLE_CARD_MILLI) && shares.some((milli) => milli % WHOLE_CARD_MILLI > 0);
}

/** Requests for cards that no runner of their class could ever meet. */
export function cardProblems(spec: PipelineSpec): FieldProblem[] {
  return componentsOf(spec.component).flatMap((component) => {
    const runnerClass = runnerClassOf(spec, component);
    if (runnerClass === undefined) return []; // said by another rule
    return component.steps.flatMap((step, index) => {
      const cards = Math.ceil(milliCardsOf([step]) / WHOLE_CARD_MILLI);
      if (cards <= runnerClass.gpus) return [];
      const path = ['spec', 'component', ...component.path, 'steps', index, 'gpu'];
      return [{ path, message: tooMany(cards, runnerClass) }];
    });
  });
}

function tooMany(cards: number, { name, gpus }: RunnerSpec): string {
  const has = gpus === 0 ? 'no cards' : `${gpus} a pod`;
  return `asks for ${cards === 1 ? 'a card' : `${cards} cards of one runner`}, and the class ${name} has ${has}: raise gpus of that class, or name another with runner`;
}

interface PlacedComponent extends Component {
  /** Below `spec.component`. */
  readonly path: readonly (string | number)[];
}

function componentsOf(component: ComponentSpec): PlacedComponent[] {
  const nested = component.steps.flatMap((step, index) => {
    if (step.forEach === undefined) return [];
    const { steps, runner } = step.forEach;
    return [{ steps, runner, path: ['steps', index, 'forEach'] }];
  });
  return [{ steps: component.steps, runner: component.runner, path: [] }, ...nested];
}
