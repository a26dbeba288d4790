// A decision log written by a real dispatcher, and read again by the simulator. L1 to P2 are the invariants at the heads of the files.
import { describe, expect, test } from 'vitest';
import { readRecording, replayDecisions } from '../../cli/simulate/index.ts';
import { Dispatcher } from '../../operator/dispatch/index.ts';
import { DecisionLog } from '../../operator/telemetry/index.ts';
import { DONE, ScriptedRunner } from '../support/scripted-runner.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const SLOTS = 2;

/** A large update and, while it runs, a small one of so many tasks; each task takes 10 ms. */
async function recorded({ maxBytes = 1 << 20, big = 6, small = 1 } = {}): Promise<string> {
  const clock = new VirtualClock();
  let text = '';
  const log = new DecisionLog({
    clock,
    pipeline: 'search/code',
    slots: () => SLOTS,
    maxBytes,
    write: (part) => {
      text += part;
    },
  });
  const dispatcher = new Dispatcher({ clock, slotsMax: SLOTS, epoch: 1, events: log });
  const runner = new ScriptedRunner();
  runner.uplink = dispatcher.addRunner({ name: 'one', runnerClass: 'default', slots: 8, runner }).uplink;
  for (const name of ['big', 'small']) dispatcher.openSource({ name });
  /** Tasks that an update's root mounts when it starts. */
  const wanted = new Map<string, number>();
  const begin = (source: string, tasks: number) => {
    wanted.set(source, tasks);
    dispatcher.startUpdate({ kind: 'cycle', source, trigger: 'test' });
    return mountAll();
  };
  const mountAll = async () => {
    await settle();
    for (const source of runner.paths().filter((path) => wanted.has(path))) {
      const root = runner.runAt(source);
      for (let mount = wanted.get(source)!; mount > 0; mount--)
        runner.uplink.mount(root, { mount, path: `${source}/secret-name-${mount}`, kind: 'item', source });
      wanted.delete(source);
    }
    await settle();
  };
  const tasks = () => runner.paths().filter((path) => path.includes('/'));
  const end = (path: string) => {
    const run = runner.runAt(path);
    runner.running.delete(run);
    runner.uplink.exited(run, DONE);
  };
  const isWorking = (root: string) =>
    wanted.has(root) || dispatcher.findRuns(({ path }) => path.startsWith(`${root}/`), 1).length > 0;
  const endTasks = async () => {
    clock.advance(10);
    for (const path of tasks()) end(path);
    await mountAll();
    for (const root of runner.paths().filter((path) => !path.includes('/') && !isWorking(path))) end(root);
    await settle();
  };
  await begin('big', big);
  await endTasks();
  await begin('small', small);
  while (runner.paths().length > 0) await endTasks();
  return text;
}

describe('a decision log', () => {
  test('L2: it names updates and sources, and no item', async () => {
    const text = await recorded();
    expect(text).toContain('"source":"big"');
    expect(text).not.toContain('secret-name');
  });

  test('L1: when it is full it says so and stops', async () => {
    const text = await recorded({ maxBytes: 1_600 });
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { e: string });
    expect(lines.at(-1)!.e).toBe('full');
    expect(text.length).toBeLessThan(1_700);
    expect(readRecording(text, 'log').isCut).toBe(true);
  });

  test('D1: roots that lend their slot have no time of their own, tasks have theirs', async () => {
    const { pipeline, slots, updates } = readRecording(await recorded(), 'log');
    expect({ pipeline, slots }).toEqual({ pipeline: 'search/code', slots: SLOTS });
    const [big, small] = updates;
    expect(big!.runs.filter(({ tookMs }) => tookMs === 10)).toHaveLength(6);
    expect(small!.runs.filter(({ tookMs }) => tookMs === 10)).toHaveLength(1);
    expect(small).toMatchObject({ name: expect.stringMatching(/^small/), in: 'small', atMs: 10 });
  });

  test('P2: under fifo the small update would have waited for the large one', async () => {
    const recording = readRecording(await recorded(), 'log');
    const of = (rule: 'fifo' | 'fewest-held', slots = SLOTS) =>
      replayDecisions(recording, rule, { slots, weights: {} }).updates.find((update) => update.in === 'small')!;
    expect(of('fewest-held').replayedMs).toBeLessThan(of('fifo').replayedMs);
    expect(of('fifo', 8).replayedMs).toBeLessThan(of('fifo').replayedMs); // more slots, and nobody waits
  });

  test('P2: with a weight the small update would have had more slots', async () => {
    const recording = readRecording(await recorded({ big: 24, small: 6 }), 'log');
    const smallTook = (weights: Readonly<Record<string, number>>) =>
      replayDecisions(recording, 'fewest-held', { slots: 4, weights }).updates.find(({ in: of }) => of === 'small')!
        .replayedMs;
    expect(smallTook({ small: 100 })).toBeLessThan(smallTook({}));
  });

  test('a file that is none is refused with the line', () => {
    expect(() => readRecording('{"e":"log"}\nnonsense\n', 'a.log')).toThrow(/a\.log: line 2: this is not JSON/);
    expect(() => readRecording('', 'a.log')).toThrow(/first line of a decision log is missing/);
  });
});
