import { defineConfig } from 'vitest/config';

// No cluster, no Docker, no network beyond loopback: `make test` runs exactly this.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Those beside the cluster take minutes, or start many processes: `make test-cluster` runs them.
    exclude: ['test/cluster/**', 'test/standalone/{two-operators,alike,push}.test.ts'],
    setupFiles: ['test/support/fail-on-console.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
