// Hybrid search merges rankings, not scores: distances and word scores have no common unit. A row's score is the sum of 1 / (60 + rank)
// over the rankings that hold it (reciprocal rank fusion; 60 is the constant of Cormack, Clarke and Büttcher, SIGIR 2009).

const RANK_OFFSET = 60;

/** How deep each ranking is read for a wanted number of hits: a row that both hold low down can still win. */
export const depthFor = (limit: number): number => Math.max(50, limit * 4);

export interface Fused<Id> {
  readonly id: Id;
  readonly score: number;
}

/** The best of several rankings, each best first and without repeats; ties keep the order of the earlier ranking. */
export function fuse<Id>(rankings: readonly (readonly Id[])[], limit: number): Fused<Id>[] {
  const scores = new Map<Id, number>();
  for (const ranking of rankings) {
    ranking.forEach((id, index) => {
      scores.set(id, (scores.get(id) ?? 0) + 1 / (RANK_OFFSET + index + 1));
    });
  }
  return [...scores]
    .map(([id, score]) => ({ id, score }))
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}
