// Replays a workload through the shipped tree on a virtual clock: the figures of design §2 come from here.
// Arrivals are scheduled first, in order; events of one instant happen in the order in which they were scheduled; an update's tasks ask
// one after another when it arrives.
import { AdmissionTree, type Run, type ServingRule } from '../../operator/admission/index.ts';

export interface Work {
  readonly name: string;
  readonly tasks: number;
  readonly eachMs: number;
  readonly atMs?: number;
}

export interface Replayed {
  readonly tookMs: number;
  /** Tasks of the others that ended no later than this update's last one. */
  readonly othersDone: number;
  /** Part of all slot time in the first second that it held, in whole percent. */
  readonly firstSecondPercent: number;
}

interface Timed {
  readonly atMs: number;
  readonly happen: () => void;
}

export function replay(rule: ServingRule, slots: number, works: readonly Work[]): Record<string, Replayed> {
  const tree = new AdmissionTree({ slots, rule });
  const events: Timed[] = [];
  const ends: { readonly name: string; readonly startMs: number; readonly endMs: number }[] = [];
  const tasks = new Map<Run, { readonly work: Work; readonly startMs: number }>();
  const schedule = (event: Timed): void => {
    let at = events.length;
    while (at > 0 && (events[at - 1] as Timed).atMs > event.atMs) at--;
    events.splice(at, 0, event);
  };
  const works_ = new Map<object, Work>();
  let nowMs = 0;

  const start = (granted: readonly Run[]): void => {
    for (const run of granted) {
      const work = works_.get(run.update) as Work;
      tasks.set(run, { work, startMs: nowMs });
      schedule({ atMs: nowMs + work.eachMs, happen: () => end(run) });
    }
  };
  const end = (run: Run): void => {
    const { work, startMs } = tasks.get(run) as { work: Work; startMs: number };
    ends.push({ name: work.name, startMs, endMs: nowMs });
    start(tree.release(run, 'succeeded').granted);
  };
  for (const work of works)
    schedule({
      atMs: work.atMs ?? 0,
      happen: () => {
        const update = tree.openUpdate(tree.pool, work.name);
        works_.set(update, work);
        for (let task = 0; task < work.tasks; task++) start(tree.request(update).granted);
      },
    });
  for (let event = events.shift(); event; event = events.shift()) {
    nowMs = event.atMs;
    event.happen();
  }

  return Object.fromEntries(
    works.map((work) => {
      const own = ends.filter(({ name }) => name === work.name);
      const lastMs = Math.max(...own.map(({ endMs }) => endMs));
      const inFirstSecondMs = own.reduce(
        (sum, { startMs, endMs }) => sum + Math.max(0, Math.min(endMs, 1000) - startMs),
        0,
      );
      const replayed: Replayed = {
        tookMs: lastMs - (work.atMs ?? 0),
        othersDone: ends.filter(({ name, endMs }) => name !== work.name && endMs <= lastMs).length,
        firstSecondPercent: Math.round((100 * inFirstSecondMs) / (slots * 1000)),
      };
      return [work.name, replayed];
    }),
  );
}
