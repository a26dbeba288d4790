// Replays the two workloads of design §2 on a virtual clock and pins all six lines of its table, exactly.
import { expect, test } from 'vitest';
import {
  fewestHeldFirst,
  fifo,
  fixedShare,
  roundRobin,
  type ServingRule,
  strictPriority,
} from '../../operator/admission/index.ts';
import { replay } from './replay.ts';

const big = { name: 'big', tasks: 400, eachMs: 10 };
const small = { name: 'small', tasks: 40, eachMs: 10, atMs: 5 };
const slowBig = { name: 'big', tasks: 400, eachMs: 40 };
const quickSmall = { name: 'small', tasks: 400, eachMs: 10 };

type Line = readonly [
  smallMs: number,
  bigDone: number,
  bigMs: number,
  bigAloneMs: number,
  smallMs2: number,
  percent: number,
];

const lines: Record<string, readonly [rule: ServingRule, line: Line]> = {
  fifo: [fifo, [545, 400, 500, 500, 2500, 0]],
  'strict priority, small first': [strictPriority(['small', 'big']), [55, 8, 550, 500, 540, 50]],
  'strict priority, big first': [strictPriority(['big', 'small']), [545, 400, 500, 500, 2500, 0]],
  'fixed share 4 + 4': [fixedShare({ big: 4, small: 4 }), [100, 40, 1000, 1000, 1000, 50]],
  'round-robin': [roundRobin, [105, 48, 550, 500, 2500, 19]],
  'fewest held first': [fewestHeldFirst, [105, 48, 550, 500, 1040, 48]],
};

for (const [name, [rule, line]] of Object.entries(lines))
  test(`${name} gives the published figures`, () => {
    const first = replay(rule, 8, [big, small]);
    const alone = replay(rule, 8, [big]);
    const second = replay(rule, 8, [slowBig, quickSmall]);
    expect([
      first.small?.tookMs,
      first.small?.othersDone,
      first.big?.tookMs,
      alone.big?.tookMs,
      second.small?.tookMs,
      second.small?.firstSecondPercent,
    ]).toEqual(line);
  });
