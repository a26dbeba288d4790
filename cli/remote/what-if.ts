// What the dashboard's what-if page asks: a workload under the six rules, with the picture.
import { lastEndMs, panels, parseWorkload, picture, type Simulation, simulateAll } from '../simulate/index.ts';

/** Of one panel: two stand side by side. */
const PICTURE_WIDTH = 600;
/** More would make a page wait. */
const TASKS_MAX = 5_000;

/** Throws an Error for people where the workload is not one. */
export function whatIf(asked: unknown): object {
  const workload = parseWorkload(JSON.stringify(asked), 'workload');
  const tasks = workload.updates.reduce((sum, update) => sum + update.tasks, 0);
  if (tasks > TASKS_MAX)
    throw new Error(`workload: updates: ${tasks} tasks in all, more than ${TASKS_MAX} on this page`);
  const names = workload.updates.map(({ name }) => name);
  const small = [...names].reverse();
  const shares = workload.shares === undefined ? [] : simulateAll(workload, ['fixed-share']);
  const lines: Simulation[] = [
    ...simulateAll(workload, ['fifo']),
    ...simulateAll({ ...workload, priority: small }, ['strict-priority']),
    ...simulateAll({ ...workload, priority: names }, ['strict-priority']),
    ...shares,
    ...simulateAll(workload, ['round-robin', 'fewest-held']),
  ];
  const drawn = panels(lines);
  const endMs = lastEndMs(drawn);
  return {
    endMs,
    lines: lines.map(({ figures }, at) => ({
      title: drawn[at]!.title,
      updates: figures.updates,
      picture: picture([drawn[at]!], { endMs, width: PICTURE_WIDTH, legend: false }),
    })),
  };
}
