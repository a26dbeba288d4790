// What is generated from the schema: CRDs, the chart's copy of them, and the reference page.
export { type Column, type Crd, columnsOf, emitCrds, schemaOf } from './crd.ts';
export { generatedFiles } from './files.ts';
export { lint } from './lint.ts';
export { fieldPaths, objectsReference } from './reference.ts';
export { childrenOf, type SchemaNode, toStructural } from './structural.ts';
