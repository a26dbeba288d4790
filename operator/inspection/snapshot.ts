// A picture of the tree at one moment, for people: nothing in it can change the tree, and the tree changes nothing in it.
// It costs by branches and runs in flight, not by waiting runs. Branches stand in order of opening, classes in the order in which they were
// named.
import type { Branch, Limits } from '../admission/index.ts';
import { type BranchInside, below, type TreeInside } from './inside.ts';

export interface BranchSnapshot extends Branch {
  /** Slots that its subtree holds; a loan counts once (A7). */
  readonly heldSlots: number;
  /** What the serving rule compares: slots, bytes, or billionths of the dominant share (A11). */
  readonly held: number;
  readonly weight: number;
  readonly executing: number;
  /** Executing runs, and parents that wait for children (A4). */
  readonly inFlight: number;
  readonly waiting: number;
  /** Runs that wait, without a slot, for another run of their component (A9). */
  readonly following: number;
  /** Arrival number at which its present spell of waiting began; absent: nothing below it waits. */
  readonly since?: number;
  /** Declared by its runs in flight. */
  readonly rows: number;
  readonly bytes: number;
  readonly limits?: Limits;
  readonly children: readonly BranchSnapshot[];
}

export interface TreeSnapshot {
  /** The limit; held slots are those of the pool. */
  readonly slots: number;
  readonly classes: readonly { readonly name: string; readonly size: number; readonly used: number }[];
  readonly pool: BranchSnapshot;
}

export function snapshotOf({ slots, inside: { pool, rooms } }: TreeInside): TreeSnapshot {
  const classes = rooms.all.flatMap(({ name, size, used }) => (name === undefined ? [] : [{ name, size, used }]));
  return { slots, classes, pool: branchSnapshot(pool) };
}

function branchSnapshot(branch: BranchInside): BranchSnapshot {
  const { number, kind, name, heldSlots, held, weight, waiting, since, rows, bytes, limits, children } = branch;
  const runs = [...below(branch)].flatMap(({ others }) => [...others]);
  const inFlight = runs.filter(({ state }) => state === 'granted').length;
  return {
    ...{ number, kind, name, heldSlots, held, weight, inFlight, waiting, rows, bytes },
    executing: runs.filter(({ isExecuting }) => isExecuting).length,
    following: runs.length - inFlight,
    ...(waiting > 0 && { since }),
    ...(limits && { limits }),
    children: kind === 'update' ? [] : [...children].map(branchSnapshot),
  };
}
