// Puts the tasks of a workload that use cards through the card ledger that Fairlead ships, under the same serving rule as their slots.
import { type BranchPath, CardLedger, type Share, WHOLE_CARD } from '../../operator/cards/index.ts';
import { ruleOf } from './admission.ts';
import type { CardAdmission, CardGrant, SimulatedRun } from './replay.ts';
import type { RuleName, Workload, WorkloadUpdate } from './workload.ts';

/** All cards of a workload are those of one runner. */
const RUNNER = 'runner';

/** Shares of cards for a workload's tasks; undefined: it has no cards. */
export function cardsFor(workload: Workload, rule: RuleName): CardAdmission | undefined {
  const { cards, updates, weights = {} } = workload;
  if (cards === undefined) return undefined;
  const isFlat = rule !== 'fewest-held';
  const ledger = new CardLedger({ rule: ruleOf(rule, workload), packs: mixes(updates) });
  ledger.addRunner(RUNNER, cards);
  if (!isFlat) for (const [path, weight] of Object.entries(weights)) ledger.setWeight(path.split('/'), weight);
  const runs = new Map<Share, SimulatedRun>();
  const shares = new Map<SimulatedRun, Share>();
  const grants = (granted: readonly Share[]): CardGrant[] =>
    granted.map((share) => ({ run: runs.get(share)!, cards: share.cards }));
  return {
    request(run, milli) {
      const branch = branchOf(updates[run.update]!, isFlat);
      const { share, granted } = ledger.request({ runner: RUNNER, branch, milli });
      runs.set(share, run);
      shares.set(run, share);
      return grants(granted);
    },
    end(run) {
      const share = shares.get(run)!;
      shares.delete(run);
      runs.delete(share);
      return grants(ledger.release(share));
    },
  };
}

const branchOf = ({ in: path, name }: WorkloadUpdate, isFlat: boolean): BranchPath =>
  isFlat || path === '' ? [name] : [...path.split('/'), name];

/** Whether some tasks need whole cards and others parts of one. */
const mixes = (updates: readonly WorkloadUpdate[]): boolean =>
  updates.some(({ gpu }) => gpu !== undefined && gpu >= WHOLE_CARD) &&
  updates.some(({ gpu }) => gpu !== undefined && gpu < WHOLE_CARD);
