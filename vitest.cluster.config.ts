import { defineConfig } from 'vitest/config';

// The tests that need a real API server, and those that take minutes: `make test-cluster`. Files that need one start their own etcd and
// kube-apiserver.
export default defineConfig({
  test: {
    include: [
      'test/cluster/**/*.test.ts',
      'test/standalone/{kills,two-operators,alike,push}.test.ts',
      'test/gateway/fairness.test.ts',
    ],
    // The long form of what `make test` does once or twice.
    env: { FAIRLEAD_KILL_ROUNDS: '25', FAIRLEAD_FAIR_ROUNDS: '5' },
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
