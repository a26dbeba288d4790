export { vectorKey } from './embed/embed-step.ts';
export {
  type OwnStepSpec,
  openStepHost,
  type QueryEmbedder,
  type StepHost,
  type StepHostOptions,
  type StepOptions,
} from './open-step.ts';
export { languageOf } from './split/languages.ts';
