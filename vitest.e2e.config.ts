import { defineConfig } from 'vitest/config';

// The scenarios on a kind cluster: `make e2e`, which builds the images and makes the cluster. In order, one at a time.
export default defineConfig({
  test: {
    include: ['e2e/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    bail: 1,
    testTimeout: 420_000,
    hookTimeout: 420_000,
    reporters: ['verbose', './test/support/closing-line.ts'],
  },
});
