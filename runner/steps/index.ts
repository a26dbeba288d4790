export { vectorKey } from './embed/embed-step.ts';
export type { Embedder } from './embed/embedder.ts';
export { type OwnStepSpec, openEmbedder, openQueryEmbedder, openStep, type StepDeps } from './open-step.ts';
export { languageOf } from './split/languages.ts';
export { openWorkerPool, type PoolOptions, type WorkerPool } from './workers/pool.ts';
