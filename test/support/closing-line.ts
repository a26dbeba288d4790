// Ends a suite's output with the line that people and CI read: `N passed, N failed, N skipped`.
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0) count.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state === 'pending' ? 'skipped' : state]++;
      }
    }
    const failed = count.failed + errors.length;
    process.stdout.write(`\n${count.passed} passed, ${failed} failed, ${count.skipped} skipped\n`);
  }
}
