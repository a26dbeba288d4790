// Puts a workload's runs through the admission tree that Fairlead ships, under one serving rule.
import {
  AdmissionTree,
  type Branch,
  fewestHeldFirst,
  fifo,
  fixedShare,
  type Run,
  roundRobin,
  type ServingRule,
  strictPriority,
} from '../../operator/admission/index.ts';
import type { Admission, SimulatedRun } from './replay.ts';
import type { RuleName, Workload } from './workload.ts';

/** A rule with what the workload says of it. */
export function ruleOf(name: RuleName, { priority, shares }: Workload): ServingRule {
  switch (name) {
    case 'fifo':
      return fifo;
    case 'strict-priority':
      return strictPriority(priority ?? []);
    case 'fixed-share':
      return fixedShare(shares ?? {});
    case 'round-robin':
      return roundRobin;
    case 'fewest-held':
      return fewestHeldFirst;
  }
}

/** Opens the workload's branches; only fewest held first sees live sources, the other rules look at a flat list of updates. */
function openUpdates(tree: AdmissionTree, { updates, weights = {} }: Workload, isFlat: boolean): Branch[] {
  const sources = new Map<string, Branch>([['', tree.pool]]);
  const openSource = (path: string): Branch => {
    const known = sources.get(path);
    if (known !== undefined) return known;
    const cut = path.lastIndexOf('/');
    const parent = openSource(path.slice(0, Math.max(0, cut)));
    const source = tree.openSource(parent, path.slice(cut + 1), { weight: weights[path] ?? 1 });
    sources.set(path, source);
    return source;
  };
  return updates.map(({ name, in: path }) => tree.openUpdate(isFlat ? tree.pool : openSource(path), name));
}

/** Admission of a workload's runs by the tree. */
export function admissionFor(workload: Workload, rule: RuleName): Admission {
  const tree = new AdmissionTree({ slots: workload.slots, rule: ruleOf(rule, workload) });
  const updates = openUpdates(tree, workload, rule !== 'fewest-held');
  const simulated = new Map<Run, SimulatedRun>();
  const granted = new Map<SimulatedRun, Run>();
  const started = (runs: readonly Run[]): SimulatedRun[] =>
    runs.map((run) => {
      const own = simulated.get(run)!;
      simulated.delete(run);
      granted.set(own, run);
      return own;
    });
  return {
    request(own) {
      const lender = own.parent && granted.get(own.parent);
      const requested = tree.request(updates[own.update]!, lender === undefined ? {} : { lender });
      simulated.set(requested.run, own);
      return started(requested.granted);
    },
    end(own) {
      const run = granted.get(own)!;
      granted.delete(own);
      return started(tree.release(run, 'succeeded').granted);
    },
  };
}
