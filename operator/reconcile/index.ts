export * from './runners/plan.ts';
