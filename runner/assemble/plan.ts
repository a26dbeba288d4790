// From a Pipeline's spec to the plan that the engine executes: steps and targets opened, texts turned into numbers.
import {
  allSteps,
  type ComponentSpec,
  DEFAULT_STEP_TIMEOUT,
  durationMs,
  type ModuleSpec,
  type NestedStepSpec,
  type PipelineSpec,
  quantityBytes,
  quantityMilli,
  runnerClassOf,
  type StepSpec,
  targetOf,
  verbOf,
} from '../../crds/schema/index.ts';
import type {
  ComponentPlan,
  PipelinePlan,
  PlannedStep,
  RetrySettings,
  Step,
  Target,
  UserModule,
} from '../execute/index.ts';

type AnyStepSpec = StepSpec | NestedStepSpec;
type ForEachSpec = NonNullable<StepSpec['forEach']>;

/** How a step becomes a thing that runs; `vectorDimensions` is the width that the targets behind it store. */
export type OpenStep = (spec: AnyStepSpec, vectorDimensions: number | undefined) => Promise<Step>;

export interface PlanOptions {
  readonly openStep: OpenStep;
  readonly openModule: (spec: ModuleSpec) => Promise<UserModule>;
  readonly targets: readonly Target[];
  /** One process stands for all classes of runner: runs name none. */
  readonly ignoreClasses: boolean;
}

/** Opens every step of a Pipeline and puts the plan together. Throws StepError for a spec that cannot work. */
export async function planOf(spec: PipelineSpec, options: PlanOptions): Promise<PipelinePlan> {
  const planner = new Planner(spec, options);
  const component = await planner.component(spec.component.steps, spec.component.runner);
  const maxContentBytes = spec.component.steps.find((step) => step.read !== undefined)?.read?.maxBytes;
  return {
    component,
    targets: options.targets,
    ...(maxContentBytes !== undefined && { maxContentBytes: quantityBytes(maxContentBytes) }),
  };
}

class Planner {
  readonly #spec: PipelineSpec;
  readonly #options: PlanOptions;

  constructor(spec: PipelineSpec, options: PlanOptions) {
    this.#spec = spec;
    this.#options = options;
  }

  async component(steps: readonly AnyStepSpec[], runner: string | undefined): Promise<ComponentPlan> {
    const planned: PlannedStep[] = [];
    const width = dimensionsOf(this.#spec, steps);
    for (const step of steps) planned.push(await this.#step(step, width));
    const runnerClass = this.#options.ignoreClasses ? undefined : runnerClassOf(this.#spec, { steps, runner })?.name;
    return { steps: planned, ...(runnerClass !== undefined && { runnerClass }) };
  }

  async #step(spec: AnyStepSpec, width: number | undefined): Promise<PlannedStep> {
    if (spec.export !== undefined) return { verb: 'export', target: spec.export.target };
    if ('forEach' in spec && spec.forEach !== undefined) return this.#forEach(spec.forEach);
    if (spec.module !== undefined) return this.#module(spec.module, spec);
    return {
      verb: verbOf(spec).kind,
      step: await this.#options.openStep(spec, width),
      ...commonOf(spec),
    };
  }

  async #module(module: ModuleSpec, spec: AnyStepSpec): Promise<PlannedStep> {
    return {
      verb: 'module',
      module: await this.#options.openModule(module),
      entry: module.entry,
      settings: module.settings,
      ...commonOf(spec),
    };
  }

  async #forEach({ steps, runner, keyField, limits }: ForEachSpec): Promise<PlannedStep> {
    const bytes = limits?.maxInflightBytes;
    return {
      verb: 'forEach',
      component: await this.component(steps, runner),
      ...(keyField !== undefined && { key: keyField }),
      ...(limits?.maxInflightRows !== undefined && { maxInflightRows: limits.maxInflightRows }),
      ...(bytes !== undefined && { maxInflightBytes: quantityBytes(bytes) }),
    };
  }
}

/** What every step may say. */
function commonOf(spec: AnyStepSpec) {
  return {
    retry: retryOf(spec),
    timeoutMs: durationMs(spec.timeout ?? DEFAULT_STEP_TIMEOUT),
    ...(spec.gpu !== undefined && { gpuMilli: quantityMilli(spec.gpu) }),
  };
}

function retryOf({ retry }: AnyStepSpec): RetrySettings {
  return { attempts: retry.attempts, baseMs: durationMs(retry.backoff), maxMs: durationMs(retry.maxBackoff) };
}

/** Width of the vectors that the component's export targets store; undefined where none or several are said. */
function dimensionsOf(spec: PipelineSpec, steps: readonly AnyStepSpec[]): number | undefined {
  const exported = new Set(allSteps({ steps } as ComponentSpec).flatMap((step) => step.export?.target ?? []));
  const widths = spec.targets
    .filter((target) => exported.has(target.name))
    .flatMap((target) => {
      const { settings } = targetOf(target);
      return 'vector' in settings && settings.vector !== undefined ? [settings.vector.dimensions] : [];
    });
  return new Set(widths).size === 1 ? widths[0] : undefined;
}
