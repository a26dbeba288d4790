export { type Certificate, selfSigned } from './certificate.ts';
export { StandaloneFolder } from './folder.ts';
export { type StandaloneOperator, type StandaloneOptions, startStandalone } from './operator.ts';
