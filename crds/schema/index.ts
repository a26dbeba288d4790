// The objects: every field once, with its description, unit, default and bounds.
// Types, CRDs, the chart's copy and the reference page all come from here (`crds/emit`).
import { type Chosen, chosen } from './chosen.ts';
import type { ComponentSpec, StateSpec } from './pipeline.ts';
import type { SourceSpec } from './sources.ts';
import type { EmbedSpec, NestedStepSpec, StepSpec } from './steps.ts';
import type { TargetSpec } from './targets.ts';

export * from './cards.ts';
export * from './conditions.ts';
export * from './cron.ts';
export * from './duration.ts';
export * from './group.ts';
export * from './inflight.ts';
export * from './live-source.ts';
export * from './pipeline.ts';
export * from './quantity.ts';
export type { RunnerSpec } from './runners.ts';
export { missingFields, type ServedNode } from './served.ts';
export type * from './sources.ts';
export * from './status.ts';
export type * from './steps.ts';
export { DEFAULT_STEP_TIMEOUT } from './steps.ts';
export type * from './targets.ts';

export const NESTED_VERBS = ['split', 'embed', 'extract', 'exec', 'module', 'export'] as const;
export const VERBS = ['read', ...NESTED_VERBS, 'forEach'] as const;
export const SOURCE_KINDS = ['git', 'directory', 's3', 'http', 'postgres', 'push'] as const;
export const TARGET_KINDS = ['sqlite', 'postgres', 'qdrant', 'lancedb', 'jsonl'] as const;
export const EMBEDDERS = ['hash', 'local', 'openai'] as const;

export type Verb = (typeof VERBS)[number];
export type SourceKind = (typeof SOURCE_KINDS)[number];
export type TargetKind = (typeof TARGET_KINDS)[number];

/** Verb of a step with its settings, such as `{ kind: 'split', settings: { by: 'code', … } }`. */
export const verbOf = (step: StepSpec): Chosen<StepSpec, Verb> => chosen(step, VERBS);
export const nestedVerbOf = (step: NestedStepSpec) => chosen(step, NESTED_VERBS);
export const sourceOf = (source: SourceSpec): Chosen<SourceSpec, SourceKind> => chosen(source, SOURCE_KINDS);
export const targetOf = (target: TargetSpec): Chosen<TargetSpec, TargetKind> => chosen(target, TARGET_KINDS);
export const stateOf = (state: StateSpec) => chosen(state, ['sqlite', 'postgres']);
export const embedderOf = (embed: EmbedSpec) => chosen(embed, EMBEDDERS);

/** Every step of a component, those of its `forEach` included. */
export const allSteps = (component: ComponentSpec): (StepSpec | NestedStepSpec)[] =>
  component.steps.flatMap((step) => [step, ...(step.forEach?.steps ?? [])]);
export { isName, MAX_NAME_LENGTH } from './metadata.ts';
export * from './nearest.ts';
export * from './problems.ts';

export { type Rule, validations } from './rules.ts';
