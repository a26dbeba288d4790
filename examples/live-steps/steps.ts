// Components that go on after the run that mounted them, each change of theirs as an update of its own in the fair tree.
import { readFile, watch } from 'node:fs/promises';
import { join } from 'node:path';
import {
  autoRefresh,
  type Component,
  declareRow,
  liveView,
  type ModuleFunction,
  mountEachLive,
  progress,
} from 'fairlead/sdk';

interface Board {
  readonly list: string;
}

/** One component a berth, now and whenever the list changes; and one that counts again every minute. */
export const board: ModuleFunction = async (elements) => {
  const found = JSON.parse(elements[0]?.text ?? '{}') as Board;
  await mountEachLive(berth, 'berths', berths, found);
  await autoRefresh(summary, 'summary', found, { everySeconds: 60 });
  return [];
};

/** The lines of a list: all of them, and then every change of the file. */
export const berths = liveView<Board, string>({
  async *scan({ list }) {
    const lines = await linesOf(list);
    for (const [at, line] of lines.entries()) {
      const [name = '', who = ''] = line.split(',');
      yield [name, `${name}: ${who}`];
      progress(at + 1, lines.length, 'berths');
    }
  },
  async *watch({ list }, { signal }) {
    const events = watch(pathOf(list), { signal });
    // From here on no change is missed: what came before is found by the scan that follows.
    yield [];
    // A file only says that it changed; entries that did not are compared and not run.
    for await (const _ of events) yield [{ rescan: true }];
  },
});

export const berth: Component<string, void> = (text) => declareRow('berths', { text });

export const summary: Component<Board, number> = async ({ list }) => {
  const free = (await linesOf(list)).filter((line) => line.endsWith(',free')).length;
  declareRow('berths', { text: `${free} berths are free`, fields: { free } });
  return free;
};

const pathOf = (list: string): string => join(import.meta.dirname, list);

async function linesOf(list: string): Promise<string[]> {
  const text = await readFile(pathOf(list), 'utf8');
  return text.split('\n').filter((line) => line !== '');
}
