// Why something waits: an update, an item or a run, in data and in sentences that `fairlead why` and the dashboard print as they are.
//   W1. What decides is asked of the tree itself (`explain`), never worked out a second time.
import type { RunPicture, RunView } from '../dispatch/index.ts';
import type { UpdateRecord } from '../host/index.ts';
import type { Explanation, Level, RunHistory, Standing } from '../inspection/index.ts';
import { updatesOf } from './views.ts';
import type { Watched } from './watched.ts';
import { cardSays } from './why-card.ts';

export interface RunWhy {
  readonly run: RunPicture;
  /** Since it asked. */
  readonly sinceMs: number;
  /** Absent: it does not wait in the tree. */
  readonly explanation?: Explanation;
  readonly says: readonly string[];
}

export interface Why {
  readonly pipeline: string;
  readonly subject: string;
  readonly kind: 'run' | 'update' | 'item' | 'unknown';
  /** The update that was asked for, or that of the item's run. */
  readonly update?: UpdateRecord;
  /** Runs that answer the question. Of an update: its root, then some that wait and some that execute, oldest first. */
  readonly runs: readonly RunWhy[];
  readonly says: readonly string[];
}

/** Of an item. */
const RUNS_MAX = 20;
/** Of an update, below its root. */
const WAITING_SHOWN = 4;
const EXECUTING_SHOWN = 3;

/** `subject`: the number of a run, the name of an update, a component path, or the key of an item. */
export function whyOf(host: Watched, subject: string, nowMs: number): Why {
  const { dispatcher } = host;
  const updates = updatesOf(host, nowMs);
  const named = (name: string | undefined) => updates.find((update) => update.name === name);
  const answer = (kind: Why['kind'], runs: readonly RunPicture[], update = named(runs[0]?.update)) =>
    whyWith(host, subject, kind, runs, update, nowMs);
  const run = /^\d+$/.test(subject) ? dispatcher.run(Number(subject)) : undefined;
  if (run !== undefined) return answer('run', [run]);
  const update = named(subject);
  if (update !== undefined || dispatcher.updates.has(subject)) {
    return answer('update', runsOf(host, subject), update);
  }
  const suffix = `/${subject}`;
  const ofItem = dispatcher.findRuns(
    (one) => one.path === subject || one.path.endsWith(suffix) || one.update.start.key === subject,
    RUNS_MAX,
  );
  return answer(ofItem.length > 0 ? 'item' : 'unknown', ofItem);
}

function runsOf({ dispatcher }: Watched, update: string): RunPicture[] {
  const find = (holds: (run: RunView) => boolean, max: number) =>
    dispatcher.findRuns((run) => run.update.name === update && holds(run), max);
  const isRoot = ({ parentRun, number, update: { rootRun } }: RunView) => parentRun === undefined || number === rootRun;
  return [
    ...find(isRoot, 1),
    ...find((run) => !isRoot(run) && run.grantedTo === undefined, WAITING_SHOWN),
    ...find((run) => !isRoot(run) && run.grantedTo !== undefined, EXECUTING_SHOWN),
  ];
}

function whyWith(
  host: Watched,
  subject: string,
  kind: Why['kind'],
  runs: readonly RunPicture[],
  update: UpdateRecord | undefined,
  nowMs: number,
): Why {
  const whys = runs.map((run) => runWhy(host, run, nowMs));
  return {
    pipeline: host.name,
    subject,
    kind,
    ...(update !== undefined && { update }),
    runs: whys,
    says: summary(host, subject, kind, update, whys),
  };
}

function runWhy(host: Watched, run: RunPicture, nowMs: number): RunWhy {
  const explanation = host.dispatcher.explain(run.number, host.recent.history);
  return {
    run,
    sinceMs: Math.max(0, nowMs - run.requestedAtMs),
    ...(explanation !== undefined && { explanation }),
    says:
      explanation === undefined
        ? [...phaseSays(run, nowMs), ...cardSays(host, run, nowMs)]
        : explanationSays(host, run, explanation),
  };
}

function summary(
  host: Watched,
  subject: string,
  kind: Why['kind'],
  update: UpdateRecord | undefined,
  runs: readonly RunWhy[],
): string[] {
  if (kind === 'unknown')
    return [
      `nothing of ${host.name} that is live or remembered is called ${subject}: it is not waiting. Names are those of \`fairlead updates\`, keys those of the source.`,
    ];
  if (runs.length > 0) return [];
  if (update === undefined) return ['its last run has just ended'];
  const ended = update.result === 'Running' ? 'it has no live run at this moment' : `it ended ${update.result}`;
  return [update.message === undefined ? ended : `${ended}: ${update.message}`];
}

/** Of whoever waits for a runner. */
const NEEDS_RUNNER =
  'what would change it: a runner that connects; in a cluster the condition RunnersAvailable of the Pipeline tells why there is none, elsewhere `fairlead runner` is one';

function phaseSays(run: RunPicture, nowMs: number): string[] {
  const where = run.runner === undefined ? '' : ` on ${run.runner}`;
  const stopping = run.cancelledWhy === undefined ? '' : `; it was told to stop: ${run.cancelledWhy}`;
  switch (run.phase) {
    case 'executing':
      return [`it executes${where}, attempt ${run.attempt}${stopping}`];
    case 'waitingForChildren':
      return [`its ${run.children} children work${where}; its slot is lent to one of them${stopping}`];
    case 'backoff':
      return [
        `attempt ${run.attempt} failed in a way that may pass; it holds no slot and asks again in ${seconds(run.requestedAtMs - nowMs)}`,
        'what would change it: a newer version of the item, else time alone',
      ];
    case 'watching':
      return [`it watches the source${where} and takes no slot`];
    case 'unplaced':
      return ['it waits for a runner: none is connected that may take it', NEEDS_RUNNER];
    default:
      return ['it does not wait'];
  }
}

function explanationSays(host: Watched, run: RunPicture, explanation: Explanation): string[] {
  const { waitsFor, of, grantsBefore, estimate } = explanation;
  const { slotsMax } = host.specs;
  if (waitsFor === 'component') return followsSays(host, run);
  if (waitsFor === 'class' && host.runners.length === 0)
    return ['it waits for a runner: none is connected yet', NEEDS_RUNNER];
  if (waitsFor === 'class')
    return [
      `runners of class ${of} have no room${rank(grantsBefore)}`,
      `what would change it: more \`slots\` or a higher \`max\` of runners of class ${run.runnerClass ?? of}`,
    ];
  if (waitsFor === 'limit')
    return [
      `the limit on rows or bytes in flight of ${of === '' ? 'the Pipeline' : of} is reached${rank(grantsBefore)}`,
      'what would change it: a higher `limits`, or the end of runs that declared rows or bytes',
    ];
  if (waitsFor === 'nothing') return ['it does not wait'];
  return [
    `it waits for one of ${slotsMax} slots${rank(grantsBefore)}`,
    ...explanation.levels.flatMap(levelSays),
    ...(explanation.olderRuns > 0 ? [`${explanation.olderRuns} older runs of its own update go first`] : []),
    ...estimateSays(estimate),
    `what would change it: more slots (\`maxInflightComponents\`, now ${slotsMax}), or a higher \`weight\` of its LiveSource`,
  ];
}

/** Of a run that waits, without a slot, for another one of its component. */
function followsSays({ dispatcher }: Watched, { path, number }: RunPicture): string[] {
  const isFirst = (run: RunView) => run.path === path && run.number !== number && run.grantedTo !== undefined;
  const [first] = dispatcher.findRuns(isFirst, 1);
  const which = first === undefined ? 'another run' : `run ${first.number} of update ${first.update}`;
  return [
    `it waits for ${which}, which executes the same component: its outcome serves both`,
    'what would change it: the end of that one',
  ];
}

const rank = (grantsBefore: number): string =>
  grantsBefore === 0 ? '; it is next' : `; at least ${grantsBefore} grants go before it`;

const AHEAD_SHOWN = 5;

function levelSays({ branch, ahead }: Level): string[] {
  if (ahead.length === 0) return [];
  const names = ahead.slice(0, AHEAD_SHOWN).map(standingSays).join(', ');
  const more = ahead.length > AHEAD_SHOWN ? ` and ${ahead.length - AHEAD_SHOWN} more` : '';
  return [`served before ${standingSays(branch)}: ${names}${more}`];
}

function standingSays({ kind, name, held, weight }: Standing): string {
  const weighted = weight === 1 ? '' : `, weight ${weight}`;
  return `${kind} ${name} (holds ${held}${weighted})`;
}

function estimateSays(estimate: { readonly waitMs: number; readonly basis: RunHistory } | undefined): string[] {
  if (estimate === undefined) return ['no time can be told: no run has ended yet'];
  const { waitMs, basis } = estimate;
  return [
    `about ${seconds(waitMs)} from now, by the last ${basis.runs} runs, which took ${seconds(basis.meanRunMs)} on average`,
  ];
}

const seconds = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
