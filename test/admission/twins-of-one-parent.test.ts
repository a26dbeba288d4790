// A9 with A7: a parent mounts one component in two versions. The second follows the first, and starts on the loan when that is back.
import { expect, test } from 'vitest';
import { AdmissionTree } from '../../operator/admission/index.ts';

test('with one slot, another version of a component starts on its parent’s loan as soon as the first is over', () => {
  const tree = new AdmissionTree({ slots: 1 });
  const update = tree.openUpdate(tree.pool, 'cycle');
  const { run: parent } = tree.request(update);
  const child = (version: string) => tree.request(update, { component: 'docs/a', version, lender: parent });
  const first = child('1');
  expect(first.granted).toEqual([first.run]);
  const second = child('2');
  expect(second.run.state).toBe('following');
  expect(tree.release(first.run, 'succeeded').granted).toEqual([second.run]);
});
