// What `fairlead simulate` prints: tables for people, JSON for programs.
import { shareText, timeText } from './picture.ts';
import { ruleTitle, type Simulation } from './run.ts';
import { table } from './table.ts';
import type { Workload } from './workload.ts';

const msText = (ms: number) => `${ms} ms`;
const percent = (part: number) => `${Math.round(part * 100)}%`;

/** One line that says what is replayed. */
export function describe({ slots, cards, updates }: Workload): string {
  const parts = updates.map(({ name, in: path, tasks, each, at, gpu }) => {
    const where = path === '' ? '' : ` in ${path}`;
    const share = gpu === undefined ? '' : ` with ${shareText(gpu)}`;
    return `${name}${where} ${tasks} × ${timeText(each)}${share} at ${timeText(at)}`;
  });
  return [`${slots} slots`, ...(cards === undefined ? [] : [`${cards} cards`]), ...parts].join('; ');
}

/** The table of the documentation: a small refresh beside a large re-index, and the second run. */
export function printTable(first: readonly Simulation[], second: readonly Simulation[]): string {
  const rows = first.map(({ workload, figures }, at) => {
    const [big, small] = figures.updates;
    const later = second[at]!.figures.updates[1]!;
    return [
      ruleTitle(figures, workload),
      msText(small!.tookMs),
      String(small!.othersDone.big),
      msText(big!.tookMs),
      msText(big!.aloneMs),
      msText(later.tookMs),
      percent(later.slotTimeShareFirstSecond),
    ];
  });
  const headers = [
    'rule',
    'small took',
    'big done\nby then',
    'big took',
    'big alone',
    'second run:\nsmall took',
    "small's share of slot\ntime, first second",
  ];
  const runs = [`first run:  ${describe(first[0]!.workload)}`, `second run: ${describe(second[0]!.workload)}`];
  return `${runs.join('\n')}\n\n${table(headers, rows)}`;
}

/** Figures of any workload, one line for each rule and update. */
export function printFigures(simulations: readonly Simulation[]): string {
  const rows = simulations.flatMap(({ workload, figures }) =>
    figures.updates.map((update, at) => [
      at === 0 ? ruleTitle(figures, workload) : '',
      update.in === '' ? update.name : `${update.in}/${update.name}`,
      msText(update.tookMs),
      msText(update.aloneMs),
      msText(update.finishedAtMs),
      String(Object.values(update.othersDone).reduce((sum, count) => sum + count, 0)),
      percent(update.slotTimeShareFirstSecond),
      ...(update.cardTimeShareFirstSecond === undefined
        ? []
        : [percent(update.cardTimeShareFirstSecond), msText(update.cardWaitMaxMs ?? 0)]),
    ]),
  );
  const hasCards = simulations[0]!.workload.cards !== undefined;
  const headers = [
    'rule',
    'update',
    'took',
    'alone',
    'ended at',
    'others done\nby then',
    'share of slot\ntime, first second',
    ...(hasCards ? ['share of card\ntime, first second', 'longest wait\nfor a card'] : []),
  ];
  return `${describe(simulations[0]!.workload)}\n\n${table(headers, rows)}`;
}

const results = (simulations: readonly Simulation[]) => ({
  slots: simulations[0]!.workload.slots,
  ...(simulations[0]!.workload.cards !== undefined && { cards: simulations[0]!.workload.cards }),
  results: simulations.map(({ figures }) => figures),
});

/** A workload for programs; for the default table `second` stands beside it in the same form. */
export function resultsOf(first: readonly Simulation[], second?: readonly Simulation[]): object {
  return second === undefined ? results(first) : { ...results(first), secondRun: results(second) };
}
