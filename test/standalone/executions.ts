// What runs wrote down of themselves: when each began and ended, on a clock that all processes share.

export interface Execution {
  readonly key: string;
  readonly pid: number;
  readonly beganAtMs: number;
  /** Its end, or that of its process; Infinity: it executes. */
  endedAtMs: number;
}

/** `killedAtMs`: of processes that were killed, and their runs with them. */
export function executionsIn(text: string, killedAtMs: ReadonlyMap<number, number>): Execution[] {
  const all: Execution[] = [];
  const open = new Map<string, Execution>();
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [what, pidText, atText, key] = line.split(' ') as [string, string, string, string];
    const [pid, atMs] = [Number(pidText), Number(atText)];
    const name = `${pid} ${key}`;
    if (what === 'begin') {
      const one: Execution = { key, pid, beganAtMs: atMs, endedAtMs: killedAtMs.get(pid) ?? Number.POSITIVE_INFINITY };
      all.push(one);
      open.set(name, one);
    } else {
      const one = open.get(name);
      if (one !== undefined) one.endedAtMs = atMs;
      open.delete(name);
    }
  }
  return all;
}

/** How many executed at once, at the most. */
export function mostAtOnce(executions: readonly Execution[]): number {
  const turns = executions.flatMap(({ beganAtMs, endedAtMs }) => [
    { atMs: beganAtMs, change: 1 },
    { atMs: endedAtMs, change: -1 },
  ]);
  turns.sort((a, b) => a.atMs - b.atMs || a.change - b.change);
  let now = 0;
  let most = 0;
  for (const { change } of turns) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

/** Keys that executed twice at one time. */
export function twiceAtOnce(executions: readonly Execution[]): string[] {
  const byKey = Map.groupBy(executions, ({ key }) => key);
  return [...byKey].filter(([, ofKey]) => mostAtOnce(ofKey) > 1).map(([key]) => key);
}

/** How many of the newest executions of a key, one after the other, ended with their process. */
export function killedLast(
  executions: readonly Execution[],
  key: string,
  killedAtMs: ReadonlyMap<number, number>,
): number {
  const own = executions.filter((one) => one.key === key);
  const ended = own.findLastIndex(({ pid, endedAtMs }) => endedAtMs !== killedAtMs.get(pid));
  return own.length - 1 - ended;
}
