// The workloads that `fairlead simulate` replays without an argument: the table of serving rules in the documentation.
import type { Workload } from './workload.ts';

const big = { name: 'big', in: '', at: 0, tasks: 400, each: 10 };
const small = { name: 'small', in: '', at: 5, tasks: 40, each: 10 };

/** A large re-index, and a small refresh that arrives while it runs. */
export const FIRST_RUN: Workload = { slots: 8, lending: false, shares: { big: 4, small: 4 }, updates: [big, small] };

/** Two updates of as many tasks that arrive together; those of one take four times as long. */
export const SECOND_RUN: Workload = {
  ...FIRST_RUN,
  updates: [
    { ...big, each: 40 },
    { ...small, at: 0, tasks: 400 },
  ],
};

/** Lines of the table. */
export const LINES = [
  { rule: 'fifo' },
  { rule: 'strict-priority', priority: ['small', 'big'] },
  { rule: 'strict-priority', priority: ['big', 'small'] },
  { rule: 'fixed-share' },
  { rule: 'round-robin' },
  { rule: 'fewest-held' },
] as const;
