export { type Folders, stateFile } from './names.ts';
export { type OpeningReason, openingReason, type Part } from './opening.ts';
export {
  type AssembleOptions,
  type Assembly,
  assemble,
  type NamedSource,
  openSources,
} from './pipeline.ts';
export { openStores, type StoreOptions, type Stores } from './stores.ts';
