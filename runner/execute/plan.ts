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
  /** Whether its runs mount components. */
  readonly mounts: boolean;
}

export type CompiledStep =
  | Extract<PlannedStep, { readonly step: unknown }>
  | { readonly verb: 'export'; readonly target: Target }
  | (Omit<Extract<PlannedStep, { readonly verb: 'forEach'; readonly component: unknown }>, 'component'> & {
      /** Index in `CompiledPlan.components`. */
      readonly component: number;
    });

export interface CompiledPlan {
  /** Components by index; the first is an item's. A nested component is named by its index in the input of its runs. */
  readonly components: readonly CompiledComponent[];
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
  const components: CompiledComponent[] = [];
  compileComponent(plan.component, new Map(plan.targets.map((target) => [target.name, target])), components);
  const bound = plan.maxContentBytes === undefined ? {} : { maxContentBytes: plan.maxContentBytes };
  return { components, targets: plan.targets, ...bound };
}

function compileComponent(
  component: ComponentPlan,
  targets: ReadonlyMap<string, Target>,
  components: CompiledComponent[],
): number {
  const index = components.length;
  components.push({ steps: [], fingerprint: '', mounts: false });
  const steps = component.steps.map((step) => compileStep(step, targets, components));
  components[index] = {
    steps,
    fingerprint: fingerprintOf(steps, components),
    mounts: steps.some((step) => step.verb === 'forEach'),
    ...(component.runnerClass === undefined ? {} : { runnerClass: component.runnerClass }),
  };
  return index;
}

function compileStep(
  planned: PlannedStep,
  targets: ReadonlyMap<string, Target>,
  components: CompiledComponent[],
): CompiledStep {
  if ('step' in planned) return planned;
  if ('component' in planned)
    return { ...planned, component: compileComponent(planned.component, targets, components) };
  const target = targets.get(planned.target);
  if (target === undefined)
    throw new Error(`the step "export" names the target "${planned.target}", which the Pipeline lacks`);
  return { verb: 'export', target };
}

function fingerprintOf(steps: readonly CompiledStep[], components: readonly CompiledComponent[]): string {
  const parts = steps.map((step) => {
    if ('step' in step) return ['step', step.verb, step.step.identity];
    if ('target' in step) return ['export', step.target.name, step.target.identity];
    return ['forEach', step.key ?? '', components[step.component]?.fingerprint ?? ''];
  });
  return shortHash(JSON.stringify([ROWS_VERSION, parts]));
}
