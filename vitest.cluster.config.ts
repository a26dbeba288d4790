import { defineConfig } from 'vitest/config';

// The tests that need a real API server: `make test-cluster`. Each file starts its own etcd and kube-apiserver.
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
