// Objects from YAML files, for `validate`, `dev`, `plan` and whoever else reads them on this machine.
export type { FileWorld, SourceText } from './files.ts';
export { type Loading, loadObjects, loadTexts, type ObjectSet } from './load.ts';
export type { Loaded, Origin, SecretValues } from './object.ts';
export { fieldText, type Problem, placeText, problemText } from './problem.ts';
