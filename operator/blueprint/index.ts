export * from './names.ts';
export * from './push-service.ts';
export * from './runner-pod.ts';
export * from './secrets.ts';
export * from './template.ts';
