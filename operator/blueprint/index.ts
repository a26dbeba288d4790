export * from './names.ts';
export * from './runner-pod.ts';
export * from './secrets.ts';
export * from './template.ts';
