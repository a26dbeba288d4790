// Replays workloads under rules and gathers what is shown of them.
import { admissionFor } from './admission.ts';
import { cardsFor } from './cards.ts';
import { FIRST_RUN, LINES, SECOND_RUN } from './defaults.ts';
import { figures, type RuleFigures } from './figures.ts';
import type { Panel } from './picture.ts';
import { type Replay, replay } from './replay.ts';
import { type RuleName, rulesOf, type Workload } from './workload.ts';

/** One workload under one rule. */
export interface Simulation {
  readonly workload: Workload;
  readonly replay: Replay;
  readonly figures: RuleFigures;
}

/** Title of a rule, as the table prints it. */
export function ruleTitle({ rule, priority, updates }: RuleFigures, workload: Workload): string {
  if (rule === 'fewest-held') return 'fewest held first';
  if (rule === 'strict-priority') return `strict priority, ${priority?.[0] ?? updates[0]?.name} first`;
  if (rule === 'fixed-share') return `fixed share ${Object.values(workload.shares ?? {}).join(' + ')}`;
  return rule;
}

const play = (workload: Workload, rule: RuleName): Replay =>
  replay(workload, admissionFor(workload, rule), cardsFor(workload, rule));

/** What an update takes alone; the rule's settings stay as they are. */
function aloneMs(workload: Workload, rule: RuleName): number[] {
  return workload.updates.map((update) => {
    const alone = { ...workload, updates: [update] };
    return play(alone, rule).finishedAtMs[0]! - update.at;
  });
}

/** Replays a workload under one rule. */
export function simulate(workload: Workload, rule: RuleName): Simulation {
  const played = play(workload, rule);
  const updates = figures(workload, played, aloneMs(workload, rule));
  const priority = rule === 'strict-priority' && workload.priority ? { priority: workload.priority } : {};
  return { workload, replay: played, figures: { rule, ...priority, updates } };
}

/** A workload under all the rules that are asked for. */
export function simulateAll(workload: Workload, asked: readonly RuleName[]): Simulation[] {
  return rulesOf(workload, asked).map((rule) => simulate(workload, rule));
}

/** The two runs of the table, line by line. */
export function simulateTable(asked: readonly RuleName[]): { first: Simulation[]; second: Simulation[] } {
  const lines = LINES.filter(({ rule }) => asked.length === 0 || asked.includes(rule));
  const under = (workload: Workload) =>
    lines.map((line) =>
      simulate('priority' in line ? { ...workload, priority: [...line.priority] } : workload, line.rule),
    );
  return { first: under(FIRST_RUN), second: under(SECOND_RUN) };
}

/** Panels of the picture, one for each simulation. */
export function panels(simulations: readonly Simulation[]): Panel[] {
  return simulations.map(({ workload, replay, figures }) => ({
    title: ruleTitle(figures, workload),
    workload,
    replay,
  }));
}
