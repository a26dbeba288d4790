// client-node for the operator: KubeConfig and what it stands on, without the thousand models and clients of the whole API, which would stay
// in memory for as long as the operator runs.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'esbuild';

const LIBRARY = '@kubernetes/client-node';
const USER = /operator\/cluster\/kubeconfig\.ts$/;
/** What KubeConfig takes from the door of the generated part. */
const TAKEN = `
export { createConfiguration } from './configuration.js';
export { ServerConfiguration } from './servers.js';
`;

export const lean: Plugin = {
  name: 'lean',
  setup(build) {
    build.onResolve({ filter: new RegExp(`^${LIBRARY}$`) }, ({ importer }) =>
      USER.test(importer) ? { path: join(folder(), 'config.js') } : undefined,
    );
    build.onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer }) =>
      dirname(importer) === folder() ? { path: 'gen', namespace: 'lean' } : undefined,
    );
    build.onLoad({ filter: /^gen$/, namespace: 'lean' }, () => ({
      contents: TAKEN,
      resolveDir: join(folder(), 'gen'),
    }));
  },
};

const folder = (): string => dirname(createRequire(import.meta.url).resolve(LIBRARY));
