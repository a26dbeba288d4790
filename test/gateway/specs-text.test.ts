// When a runner that serves has to open its parts anew: when the specs say something else, not when another operator sends them.
import { expect, test } from 'vitest';
import { specsText } from '../../runner/session/index.ts';

const source = (name: string, spec: string) => ({ name, spec });
const specs = { generation: 2, pipeline: '{"p":1}', sources: [source('a', '{"a":1}'), source('b', '{}')] };

test('an operator that counts generations anew and names the sources in another order says the same', () => {
  expect(specsText({ ...specs, generation: 1, sources: specs.sources.toReversed() })).toBe(specsText(specs));
});

test('another Pipeline, another source or one source less says something else', () => {
  const others = [
    { ...specs, pipeline: '{"p":2}' },
    { ...specs, sources: [source('a', '{"a":2}'), source('b', '{}')] },
    { ...specs, sources: [source('a', '{"a":1}')] },
  ];
  for (const other of others) expect(specsText(other)).not.toBe(specsText(specs));
});
