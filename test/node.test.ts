import { expect, test } from 'vitest';

test('scripts run on the Node that the lockfile brings, not on the one that ran npm', () => {
  expect(Number(process.versions.node.split('.')[0])).toBe(24);
});
