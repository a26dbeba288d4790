// What user code finds around it while a run executes it. The functions of the SDK look here for the run that they were called in, so that
// user code passes no handle through its own functions.
//   U1. Outside of a run every function of the SDK that needs one refuses, and names itself.
//   U2. A run that ended answers no more: code that was left running can neither mount nor declare.
//   U3. Where a result is remembered or shared (a memoised function, a batch) and where a card is held, nothing can be mounted or declared.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Element, Item } from './element.ts';
import { StepError } from './errors.ts';
import type { RateClock } from './rate.ts';

/** Cards that a body may use, as `CUDA_VISIBLE_DEVICES` counts them, and thousandths of each. */
export interface Cards {
  readonly cards: readonly number[];
  readonly milliShare: number;
}

/** What a function of a user's module gets beside its input. */
export interface ModuleContext {
  readonly item: Item;
  /** `settings` of the step as they stand in the Pipeline; undefined where there are none. */
  readonly settings: unknown;
  /** Aborts on cancellation and on the step's timeout. */
  readonly signal: AbortSignal;
  /** Everything is to be computed anew: memoised functions miss by themselves. */
  readonly reprocess: boolean;
  /** The item's content, read once per run; more than `maxBytes` (default 16 MiB) fails as `too-large`. */
  content(maxBytes?: number): Promise<Uint8Array>;
  /** Tells people a fact about the item that is no error. A bounded number is kept and printed after the update. */
  log(text: string): void;
  /** W3C trace context of the step, to send along with requests; undefined: the update is not traced. */
  readonly traceparent: string | undefined;
  /** Runs `body` while the step's share of a card (`gpu`) is held; without `gpu` at once. The body cannot mount. */
  withCard<T>(body: (cards: Cards | undefined) => Promise<T>): Promise<T>;
}

/** A component: an exported function of the module that others mount. What it returns goes to whoever uses its value, as JSON. */
export type Component<Input, Result> = (input: Input, context: ModuleContext) => Result | Promise<Result>;

/** The function of a `module` step: elements in, elements out. */
export type ModuleFunction = (
  elements: readonly Element[],
  context: ModuleContext,
) => readonly Element[] | Promise<readonly Element[]>;

export interface MountOptions {
  /**
   * The component's result depends on its input and on the code alone: with an input that the state knows it is not run again, its rows stay and
   * its value is the one of last time. Default false: it runs whenever its parent does.
   */
  readonly memo?: boolean;
}

/** A component that was mounted. */
export interface MountHandle<Result> {
  /** Its value once it, all below it and its commit are done. Whoever asks handles its failure, else the parent fails with it. */
  ready(): Promise<Result>;
}

/** What is mounted: which component, under which key. */
export interface Mounting {
  readonly component: Component<never, unknown>;
  readonly key: string;
  readonly input: unknown;
  readonly options: MountOptions;
}

/** A component that goes on after its first run. */
export interface LiveMounting {
  /** What is exported: the component, the live component, or the view. */
  readonly component: Component<never, unknown>;
  readonly key: string;
  readonly input: unknown;
  readonly life:
    | { readonly kind: 'refresh'; readonly everyMs: number }
    | { readonly kind: 'live' }
    | {
        readonly kind: 'each';
        /** Mounted for each entry of the view. */
        readonly each: Component<never, unknown>;
        readonly memo: boolean;
        readonly rescanMs?: number;
      };
}

/** How far a run is, for people. */
export interface Progress {
  readonly done: number;
  /** Absent: not known. */
  readonly total?: number;
  /** What is counted, or what is done at the moment. */
  readonly what?: string;
}

/** The engine, as the SDK sees it during one run. */
export interface RunHost {
  readonly signal: AbortSignal;
  readonly clock: RateClock;
  /** Result of a memoised function, computed by `compute` where it is not known. */
  memoised(id: MemoId, input: unknown, compute: () => Promise<unknown>): Promise<unknown>;
  declareRow(target: string, row: Element): void;
  /** Update that the run belongs to. */
  readonly update: string;
  /** Runs `body` while the step's share of a card is held, where it has one; `signal` while that is waited for. */
  withCard<T>(body: (cards: Cards | undefined) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Resolves when the component is mounted. */
  mount(mounting: Mounting): Promise<MountHandle<unknown>>;
  /** Resolves when its first run is mounted. */
  mountLive(mounting: LiveMounting): Promise<MountHandle<unknown>>;
  progress(progress: Progress): void;
}

/** What names a memoised function, apart from its input. */
export interface MemoId {
  readonly name: string;
  readonly version: string | undefined;
}

export interface Ambient {
  readonly host: RunHost;
  /** Where the code is, if it may neither mount nor declare there (U3), such as "a memoised function". */
  readonly restriction: string | undefined;
  /** Cards that the code may use. */
  readonly cards: Cards | undefined;
}

const storage = new AsyncLocalStorage<Ambient>();

/** Runs user code for a run. `cards` absent: those of the code around it. */
export function enterRun<T>(host: RunHost, restriction: string | undefined, body: () => T, cards?: Cards): T {
  const around = storage.getStore();
  return storage.run({ host, restriction, cards: cards ?? (around?.host === host ? around.cards : undefined) }, body);
}

/** The run that the caller was called in (U1). */
export function ambientRun(caller: string): Ambient {
  const ambient = storage.getStore();
  if (ambient !== undefined) return ambient;
  throw new StepError('invalid', `${caller} was called outside of a run: call it from the function that a step names`);
}

/** The run, for what leaves traces in it (U3). */
export function openRun(caller: string): RunHost {
  const { host, restriction } = ambientRun(caller);
  if (restriction === undefined) return host;
  throw new StepError(
    'invalid',
    `${caller} cannot be called in ${restriction}: return a value, and call it with that outside`,
  );
}
