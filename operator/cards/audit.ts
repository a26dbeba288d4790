// Recounts of the ledger's books, the slow way.
import type { ShareBranch } from './branch.ts';
import type { CardRunner } from './runner.ts';
import { WHOLE_CARD } from './types.ts';

/** What a runner's cards say, beside the shares that are held on them (L1). */
export function auditCards(runner: CardRunner): string[] {
  const wrong: string[] = [];
  for (const card of runner.cards) {
    const shares = [...runner.held].filter((share) => share.cards.includes(card.index));
    const held = shares.reduce((sum, share) => sum + Math.min(share.milli, WHOLE_CARD), 0);
    const at = `card ${card.index} of runner ${runner.name}`;
    if (held !== card.heldMilli) wrong.push(`${at}: books say ${card.heldMilli}m, shares add up to ${held}m`);
    if (held > WHOLE_CARD) wrong.push(`${at}: ${held}m are granted`);
  }
  return wrong;
}

/** What branches say, beside the shares below them. */
export function auditBranches(root: ShareBranch, runners: readonly CardRunner[]): string[] {
  const held = new Map<ShareBranch, number>();
  const waiting = new Map<ShareBranch, number>();
  for (const runner of runners) {
    for (const share of runner.held)
      for (const branch of share.leaf.path()) held.set(branch, (held.get(branch) ?? 0) + share.milli);
    for (const share of runner.waiting)
      for (const branch of share.leaf.path()) waiting.set(branch, (waiting.get(branch) ?? 0) + 1);
  }
  const wrong: string[] = [];
  for (const branch of allBelow(root)) {
    const [isHeld, isWaiting] = [held.get(branch) ?? 0, waiting.get(branch) ?? 0];
    if (branch.held !== isHeld)
      wrong.push(`branch ${branch.name}: books say ${branch.held}m, shares add up to ${isHeld}m`);
    if (branch.waiting !== isWaiting)
      wrong.push(`branch ${branch.name}: books say ${branch.waiting} wait, there are ${isWaiting}`);
  }
  return wrong;
}

function* allBelow(branch: ShareBranch): Generator<ShareBranch> {
  yield branch;
  for (const child of branch.children.values()) yield* allBelow(child);
}
