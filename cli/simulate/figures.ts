// What a replay shows in figures, and its JSON form.
import type { Hold, Replay } from './replay.ts';
import type { RuleName, Workload } from './workload.ts';

const FIRST_SECOND_MS = 1_000;

/** Figures of one update under one rule. */
export interface UpdateFigures {
  readonly name: string;
  /** Path of the live sources that it belongs to; "" is the pool. */
  readonly in: string;
  readonly finishedAtMs: number;
  /** From its arrival to the end of its last task. */
  readonly tookMs: number;
  /** What the same update takes alone under the rule. */
  readonly aloneMs: number;
  /** Tasks of each other update that ended no later than this update's last one. */
  readonly othersDone: Readonly<Record<string, number>>;
  /** Its part of the slot time that was used in the first second, rounded to a hundredth. */
  readonly slotTimeShareFirstSecond: number;
}

export interface RuleFigures {
  readonly rule: RuleName;
  /** For strict-priority: updates, first to last. */
  readonly priority?: readonly string[];
  readonly updates: readonly UpdateFigures[];
}

const usedFirstSecondMs = (holds: readonly Hold[]) =>
  holds.reduce((sum, { startMs, endMs }) => sum + Math.max(0, Math.min(endMs, FIRST_SECOND_MS) - startMs), 0);

/** How many of the holds, which are in the order of their ends, ended by then. */
function endedBy(holds: readonly Hold[], ms: number): number {
  let low = 0;
  for (let high = holds.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (holds[middle]!.endMs <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Figures of a replay, updates in the order of the workload. `aloneMs`: by update, from replays of it alone. */
export function figures(workload: Workload, replay: Replay, aloneMs: readonly number[]): UpdateFigures[] {
  const holds: Hold[][] = workload.updates.map(() => []);
  for (const hold of replay.holds) holds[hold.update]!.push(hold);
  const usedMs = holds.map(usedFirstSecondMs);
  const usedByAllMs = usedMs.reduce((sum, ms) => sum + ms, 0);
  return workload.updates.map(({ name, in: path, at: arrivedMs }, own) => {
    const finishedAtMs = replay.finishedAtMs[own]!;
    const others = workload.updates.map((other, at) => [other.name, endedBy(holds[at]!, finishedAtMs)] as const);
    return {
      name,
      in: path,
      finishedAtMs,
      tookMs: finishedAtMs - arrivedMs,
      aloneMs: aloneMs[own]!,
      othersDone: Object.fromEntries(others.filter((_, at) => at !== own)),
      slotTimeShareFirstSecond: usedByAllMs === 0 ? 0 : Math.round((100 * usedMs[own]!) / usedByAllMs) / 100,
    };
  });
}
