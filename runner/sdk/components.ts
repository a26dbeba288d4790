// Components that user code mounts, and rows that it declares. A component is an exported function of the step's module; its path is the path of
// the run that mounted it and its key. Components that were there before and are not mounted this time are deleted with their rows.
import { ambientRun, type Component, type MountHandle, type MountOptions, openRun } from './ambient.ts';
import type { Element } from './element.ts';
import { valuesOf } from './functions.ts';

/** Key and input of one component. */
export type MountEntry<Input> = readonly [key: string, input: Input];

/**
 * Mounts a component in the background; resolves when it is handed over. Its run takes the loan of this run's slot or a slot of the pool. A
 * failure that nobody asked for (`ready`) fails this run when it ends. Refuses a key that this run has mounted already.
 */
export async function mount<Input, Result>(
  component: Component<Input, Result>,
  key: string,
  input: Input,
  options: MountOptions = {},
): Promise<MountHandle<Result>> {
  const handle = await openRun('mount').mount({ component, key, input, options });
  return handle as MountHandle<Result>;
}

/** Mounts a component and waits for its value. Its failure is thrown here. */
export async function useMount<Input, Result>(
  component: Component<Input, Result>,
  key: string,
  input: Input,
  options: MountOptions = {},
): Promise<Result> {
  const handle = await openRun('useMount').mount({ component, key, input, options });
  return (await handle.ready()) as Result;
}

/** Components that were mounted together. */
export interface MountGroup {
  readonly size: number;
  /** Until all are done; throws the first failure in the order of mounting, once all have ended. */
  ready(): Promise<void>;
  /** Until all are done; how many failed. Who asks handles those failures. */
  failed(): Promise<number>;
}

/** Mounts a component for each entry, in the background, as fast as slots allow. */
export function mountEach<Input, Result>(
  component: Component<Input, Result>,
  entries: Iterable<MountEntry<Input>>,
  options: MountOptions = {},
): Promise<MountGroup> {
  return mountAll(component, entries, options, 'mountEach');
}

/** The same from a stream, which is read no faster than components can be mounted. */
export function mountEachStream<Input, Result>(
  component: Component<Input, Result>,
  entries: AsyncIterable<MountEntry<Input>>,
  options: MountOptions = {},
): Promise<MountGroup> {
  return mountAll(component, entries, options, 'mountEachStream');
}

async function mountAll<Input, Result>(
  component: Component<Input, Result>,
  entries: Iterable<MountEntry<Input>> | AsyncIterable<MountEntry<Input>>,
  options: MountOptions,
  caller: string,
): Promise<MountGroup> {
  const host = openRun(caller);
  const handles: MountHandle<unknown>[] = [];
  for await (const [key, input] of entries) handles.push(await host.mount({ component, key, input, options }));
  const ended = () => Promise.allSettled(handles.map((handle) => handle.ready()));
  return {
    size: handles.length,
    ready: async () => {
      valuesOf(await ended());
    },
    failed: async () => (await ended()).filter(({ status }) => status === 'rejected').length,
  };
}

/** Mounts a component for each entry and waits for all. Values come in the entries' order; all end, then the first failure in that order is thrown. */
export async function useMountEach<Input, Result>(
  component: Component<Input, Result>,
  entries: Iterable<MountEntry<Input>>,
  options: MountOptions = {},
): Promise<Result[]> {
  const host = openRun('useMountEach');
  const waits: Promise<unknown>[] = [];
  for (const [key, input] of entries) {
    const handle = await host.mount({ component, key, input, options });
    const ready = handle.ready();
    // Heard below, once all are mounted; until then nobody listens.
    ready.catch(() => {});
    waits.push(ready);
  }
  return valuesOf(await Promise.allSettled(waits)) as Result[];
}

/** Declares a row of a target: the component of this run owns it. It is written with the run's commit; what is not declared next time is deleted. */
export function declareRow(target: string, row: Element): void {
  openRun('declareRow').declareRow(target, row);
}

/**
 * Says how far this run is, for those who watch: `progress(34, 120, 'pages')`. Cheap enough for every step of a loop; it is shown, never kept,
 * and changes nothing.
 */
export function progress(done: number, total?: number, what?: string): void {
  const { host } = ambientRun('progress');
  host.progress({ done, ...(total === undefined ? {} : { total }), ...(what === undefined ? {} : { what }) });
}
