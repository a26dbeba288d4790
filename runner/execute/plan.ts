// A Pipeline's plan with what the engine derives from it once: fingerprints, and the address of each nested component.
import { shortHash } from './hash.ts';
import type { ComponentPlan, PipelinePlan, PlannedStep, Target } from './ports.ts';

/** Version of how the engine makes rows of elements. Part of every fingerprint: a change writes every row again. */
const ROWS_VERSION = 'rows/1';

export interface CompiledComponent {
  readonly steps: readonly CompiledStep[];
  /** What of spec, code, model and dimensions decides the component's result. */
  readonly fingerprint: string;
  readonly runnerClass?: string;
  /** Largest share of cards that a step asks for; absent: none does. */
  readonly milliCards?: number;
  /** Whether its runs mount components. */
  readonly mounts: boolean;
}

export type CompiledStep =
  | Extract<PlannedStep, { readonly step: unknown }>
  | CompiledModule
  | { readonly verb: 'export'; readonly target: Target }
  | (Omit<Extract<PlannedStep, { readonly verb: 'forEach'; readonly component: unknown }>, 'component'> & {
      /** Index in `CompiledPlan.components`. */
      readonly component: number;
    });

/** A step that calls a user's module. */
export type CompiledModule = Extract<PlannedStep, { readonly module: unknown }> & {
  /** Index in `CompiledPlan.modules`. */
  readonly index: number;
  /** What decides the result of every function of the module: its code, its settings, and the targets that it may declare rows of. */
  readonly fingerprint: string;
  readonly runnerClass?: string;
};

export interface CompiledPlan {
  /** Components by index; the first is an item's. A nested component is named by its index in the input of its runs. */
  readonly components: readonly CompiledComponent[];
  /** Steps that call user code, by index; a component that such code mounted is named by it in the input of its runs. */
  readonly modules: readonly CompiledModule[];
  readonly targets: readonly Target[];
  readonly maxContentBytes?: number;
}

export function itemComponent(plan: CompiledPlan): CompiledComponent {
  const component = plan.components[0];
  if (component === undefined) throw new Error('a plan has a component');
  return component;
}

/** Fingerprint of an item's component: what of spec, code, model and dimensions decides its rows. Its targets must be prepared. */
export function planFingerprint(plan: PipelinePlan): string {
  return itemComponent(compilePlan(plan)).fingerprint;
}

/** Throws when a step names a target that the plan lacks; the wiring has refused that with its line and field before. */
export function compilePlan(plan: PipelinePlan): CompiledPlan {
  const compiler = new Compiler(plan.targets);
  compiler.component(plan.component);
  const bound = plan.maxContentBytes === undefined ? {} : { maxContentBytes: plan.maxContentBytes };
  return { components: compiler.components, modules: compiler.modules, targets: plan.targets, ...bound };
}

class Compiler {
  readonly components: CompiledComponent[] = [];
  readonly modules: CompiledModule[] = [];
  readonly #targets: ReadonlyMap<string, Target>;

  constructor(targets: readonly Target[]) {
    this.#targets = new Map(targets.map((target) => [target.name, target]));
  }

  /** Answers its index. */
  component({ steps: planned, runnerClass }: ComponentPlan): number {
    const index = this.components.length;
    const milliCards = Math.max(0, ...planned.map((step) => ('gpuMilli' in step ? (step.gpuMilli ?? 0) : 0)));
    const needs = {
      ...(runnerClass === undefined ? {} : { runnerClass }),
      ...(milliCards === 0 ? {} : { milliCards }),
    };
    this.components.push({ steps: [], fingerprint: '', mounts: false });
    const steps = planned.map((step) => this.#step(step, needs));
    this.components[index] = {
      steps,
      fingerprint: this.#fingerprintOf(steps),
      mounts: steps.some(({ verb }) => verb === 'forEach' || verb === 'module'),
      ...needs,
    };
    return index;
  }

  #step(planned: PlannedStep, needs: Needs): CompiledStep {
    if ('step' in planned) return planned;
    if ('module' in planned) return this.#module(planned, needs);
    if ('component' in planned) return { ...planned, component: this.component(planned.component) };
    const target = this.#targets.get(planned.target);
    if (target === undefined)
      throw new Error(`the step "export" names the target "${planned.target}", which the Pipeline lacks`);
    return { verb: 'export', target };
  }

  #module(planned: ModuleStep, { runnerClass }: Needs): CompiledModule {
    const targets = [...this.#targets.values()].map(({ name, identity }) => [name, identity]);
    const settings = JSON.stringify(planned.settings ?? null);
    const fingerprint = shortHash(JSON.stringify([ROWS_VERSION, planned.module.identity, settings, targets]));
    const place = runnerClass === undefined ? {} : { runnerClass };
    const compiled = { ...planned, index: this.modules.length, fingerprint, ...place };
    this.modules.push(compiled);
    return compiled;
  }

  #fingerprintOf(steps: readonly CompiledStep[]): string {
    const parts = steps.map((step) => {
      if ('step' in step) return ['step', step.verb, step.step.identity];
      if ('module' in step) return ['module', step.entry, step.fingerprint];
      if ('target' in step) return ['export', step.target.name, step.target.identity];
      return ['forEach', step.key ?? '', this.components[step.component]?.fingerprint ?? ''];
    });
    return shortHash(JSON.stringify([ROWS_VERSION, parts]));
  }
}

/** What a component needs of its runner. */
type Needs = Pick<CompiledComponent, 'runnerClass' | 'milliCards'>;
type ModuleStep = Extract<PlannedStep, { readonly module: unknown }>;
