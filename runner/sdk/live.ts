// Components that go on after the run that mounted them: they are processed once in that run, and then whenever something changes or time
// passes, each time as an update of their own. They end with the component that mounted them: when it is deleted, or mounts them no more.
import { type Component, type LiveMounting, type ModuleContext, type MountHandle, openRun } from './ambient.ts';
import type { MountEntry } from './components.ts';
import { StepError } from './errors.ts';

export interface RefreshOptions {
  /** From the end of one cycle to the start of the next, in seconds; above 0. Cycles never overlap. */
  readonly everySeconds: number;
}

/** How an operation of a live component ended. `superseded`: a newer one of the same key came before it began, and it took no slot. */
export type LiveOutcome = 'done' | 'failed' | 'superseded' | 'cancelled';

/** What the live part of a component has in hand. Nothing else can be mounted there. */
export interface LiveOperator {
  /** Aborts when the component is to stop. */
  readonly signal: AbortSignal;
  readonly settings: unknown;
  /**
   * Processes the whole component again, as an update of its own: what it does not mount any more is deleted. It waits until no key
   * executes; keys that are asked for meanwhile follow.
   */
  updateFull(): Promise<LiveOutcome>;
  /** Processes the component of one key. Different keys run beside each other; of one key at most one runs and one, the newest, waits. */
  update<Input>(key: string, component: Component<Input, unknown>, input: Input): Promise<LiveOutcome>;
  /** Deletes the component of a key with its rows. */
  delete(key: string): Promise<LiveOutcome>;
  /** A small value that survives restarts, such as how far a log was read; undefined: none was written. It goes with the component. */
  readState(): Promise<unknown>;
  /** Writes it: JSON of at most 256 KiB. */
  writeState(value: unknown): Promise<void>;
  log(text: string): void;
}

/** The long-running part of a live component. It returns when there will be no more changes; what it throws is told, and it is begun again. */
export type LivePart<Input> = (input: Input, operator: LiveOperator) => Promise<void>;

/** A component that sees its own changes. It must be exported. */
export type LiveComponent<Input> = Component<Input, unknown> & { readonly processLive: LivePart<Input> };

/** Puts a live component together: `process` declares everything that it mounts and its rows, `processLive` sees what changes afterwards. */
export function liveComponent<Input>(parts: {
  readonly process: Component<Input, unknown>;
  readonly processLive: LivePart<Input>;
}): LiveComponent<Input> {
  const process: Component<Input, unknown> = (input, context) => parts.process(input, context);
  return Object.assign(process, { processLive: parts.processLive });
}

/** Something that happened in what a view shows. `rescan`: it cannot say what, so everything is to be scanned. */
export type LiveChange<Input> =
  | { readonly key: string; readonly input: Input }
  | { readonly key: string; readonly deleted: true }
  | { readonly rescan: true };

export interface LiveViewParts<Input, ItemInput> {
  /** Everything that is there now. Absent: a feed, of which only changes can be seen. */
  readonly scan?: (
    input: Input,
    context: ModuleContext,
  ) => AsyncIterable<MountEntry<ItemInput>> | Iterable<MountEntry<ItemInput>>;
  /** Changes, in batches, until `signal` aborts. The first batch, perhaps empty, says that from now on no change is missed. */
  readonly watch: (
    input: Input,
    operator: Pick<LiveOperator, 'signal' | 'settings' | 'readState' | 'writeState' | 'log'>,
  ) => AsyncIterable<readonly LiveChange<ItemInput>[]>;
}

/** Entries that can be scanned and watched. It must be exported. */
export type LiveView<Input, ItemInput> = ((input: Input) => never) & LiveViewParts<Input, ItemInput>;

/** Puts a view together, for `mountEachLive`. */
export function liveView<Input, ItemInput>(parts: LiveViewParts<Input, ItemInput>): LiveView<Input, ItemInput> {
  const refuse = (): never => {
    throw new StepError('invalid', 'a live view is given to mountEachLive, not called');
  };
  return Object.assign(refuse, parts);
}

export interface EachLiveOptions {
  /** Whether an entry whose input the state knows is only compared when everything is scanned again. Default true. */
  readonly memo?: boolean;
  /** Seconds between full scans, a net under the changes; false: none. Default 3600. */
  readonly rescanSeconds?: number | false;
}

const RESCAN_SECONDS = 3_600;

/**
 * Mounts a component that is processed now and then again, `everySeconds` after each cycle ended. The handle is ready when the first cycle
 * is committed; a later one that fails is told, and the next one comes all the same.
 */
export function autoRefresh<Input, Result>(
  component: Component<Input, Result>,
  key: string,
  input: Input,
  { everySeconds }: RefreshOptions,
): Promise<MountHandle<Result>> {
  const everyMs = millisecondsOf(everySeconds, 'everySeconds');
  return mountAlive('autoRefresh', { component, key, input, life: { kind: 'refresh', everyMs } });
}

/** Mounts a live component: `process` runs now; once that is committed, `processLive` begins. The handle is ready when `process` is committed. */
export function mountLive<Input>(
  component: LiveComponent<Input>,
  key: string,
  input: Input,
): Promise<MountHandle<unknown>> {
  return mountAlive('mountLive', { component, key, input, life: { kind: 'live' } });
}

/**
 * Mounts a component for each entry of a view, and keeps to its changes afterwards: one that came or changed is processed, one that went is
 * deleted. The handle is ready when all entries of the first scan are committed.
 */
export function mountEachLive<Input, ItemInput>(
  component: Component<ItemInput, unknown>,
  key: string,
  view: LiveView<Input, ItemInput>,
  input: Input,
  { memo = true, rescanSeconds = RESCAN_SECONDS }: EachLiveOptions = {},
): Promise<MountHandle<unknown>> {
  const rescan = rescanSeconds === false ? {} : { rescanMs: millisecondsOf(rescanSeconds, 'rescanSeconds') };
  return mountAlive('mountEachLive', {
    component: view,
    key,
    input,
    life: { kind: 'each', each: component as Component<never, unknown>, memo, ...rescan },
  });
}

function mountAlive<Result>(caller: string, mounting: LiveMounting): Promise<MountHandle<Result>> {
  return openRun(caller).mountLive(mounting) as Promise<MountHandle<Result>>;
}

function millisecondsOf(seconds: number, name: string): number {
  if (Number.isFinite(seconds) && seconds > 0) return Math.ceil(seconds * 1_000);
  throw new StepError('invalid', `${name} must be a number of seconds above 0`);
}
