// Which changes of specs a runner opens its parts anew for.
import { expect, test } from 'vitest';
import { type RunnerSpecs, specsText } from '../../runner/session/index.ts';

const PIPELINE = {
  maxInflightComponents: 8,
  runners: [{ name: 'cpu', slots: 4, gpus: 0 }],
  component: { steps: [{ read: {} }] },
  targets: [{ name: 'rows', sqlite: { table: 'rows' } }],
};
const SOURCE = { interval: '30s', weight: 1, source: { directory: { path: 'docs' } } };

function specs(pipeline: object = {}, source: object = {}, generation = 1): RunnerSpecs {
  const sources = [{ name: 'docs', spec: JSON.stringify({ ...SOURCE, ...source }) }];
  return { generation, pipeline: JSON.stringify({ ...PIPELINE, ...pipeline }), sources };
}

const same = specsText(specs());

test.each([
  ['another generation', specs({}, {}, 2)],
  ['more slots of the pool', specs({ maxInflightComponents: 1_000 })],
  ['other limits', specs({ limits: { maxInflightRows: 1 } })],
  ['more slots of a runner', specs({ runners: [{ name: 'cpu', slots: 64, gpus: 0 }] })],
  ['another interval', specs({}, { interval: '1h' })],
  ['another weight', specs({}, { weight: 3 })],
  ['a suspended source', specs({}, { suspend: true })],
])('a runner goes on as it is after %s', (_, changed) => {
  expect(specsText(changed)).toBe(same);
});

test.each([
  ['other steps', specs({ component: { steps: [{ read: { maxBytes: '1Ki' } }] } })],
  ['another target', specs({ targets: [] })],
  ['another card of a class', specs({ runners: [{ name: 'cpu', slots: 4, gpus: 1 }] })],
  ['another folder', specs({}, { source: { directory: { path: 'other' } } })],
  ['another source', { ...specs(), sources: [] }],
])('a runner opens its parts anew for %s', (_, changed) => {
  expect(specsText(changed)).not.toBe(same);
});

test('the order in which sources are named does not count', () => {
  const second = { name: 'code', spec: JSON.stringify(SOURCE) };
  const { pipeline, sources } = specs();
  const both = { generation: 1, pipeline, sources: [...sources, second] };
  expect(specsText({ ...both, sources: both.sources.toReversed() })).toBe(specsText(both));
});
