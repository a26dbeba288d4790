// What a replay shows in figures, and its JSON form.
import type { CardHold, Hold, Replay } from './replay.ts';
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
  /** For a workload with cards: its part of the card time that was used in the first second, rounded to a hundredth. */
  readonly cardTimeShareFirstSecond?: number;
  /** For a workload with cards: the longest that one of its tasks waited for its share. */
  readonly cardWaitMaxMs?: number;
}

export interface RuleFigures {
  readonly rule: RuleName;
  /** For strict-priority: updates, first to last. */
  readonly priority?: readonly string[];
  readonly updates: readonly UpdateFigures[];
}

const usedFirstSecondMs = (holds: readonly Pick<Hold, 'startMs' | 'endMs'>[]) =>
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
  const cards = workload.cards === undefined ? undefined : cardFigures(workload, replay.cardHolds);
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
      slotTimeShareFirstSecond: shareOf(usedMs, own),
      ...cards?.[own],
    };
  });
}

/** Part of one in all, rounded to a hundredth. */
function shareOf(amounts: readonly number[], own: number): number {
  const all = amounts.reduce((sum, amount) => sum + amount, 0);
  return all === 0 ? 0 : Math.round((100 * amounts[own]!) / all) / 100;
}

/** By update. */
function cardFigures({ updates }: Workload, cardHolds: readonly CardHold[]) {
  const holds = updates.map((_, own) => cardHolds.filter(({ update }) => update === own));
  const used = holds.map((own) => own.reduce((sum, hold) => sum + hold.milli * usedFirstSecondMs([hold]), 0));
  return holds.map((own, at) => ({
    cardTimeShareFirstSecond: shareOf(used, at),
    cardWaitMaxMs: own.reduce((max, { askedMs, startMs }) => Math.max(max, startMs - askedMs), 0),
  }));
}
