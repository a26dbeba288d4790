// Components that one call of user code mounts.
//
//   Y1. A key is mounted once; a component is an exported function of the step's module, so that any runner finds it by name.
//   Y2. With `memo`, a component that the state knows under the same input and code costs a comparison: no run, and its value is that of last time.
//   Y3. A failure that user code asked for is handled there, and the component above runs again with the next cycle. One that nobody asked for
//       fails the run above once all its components have ended.
//   Y4. Mounting follows the slots: a bounded number of components wait to start.
import { childPath, type Json, type RunError, type RunOutcome } from '../protocol/index.ts';
import { type FieldValue, type MountHandle, type Mounting, StepError } from '../sdk/index.ts';
import { RunFailure } from './failure.ts';
import { canonicalJson, contentHashOf, shortHash } from './hash.ts';
import type { PausableTimer } from './module-timer.ts';
import { INPUT_MAX_BYTES } from './nested.ts';
import type { CompiledModule } from './plan.ts';
import type { CallPlace } from './workplace.ts';

/** Input of a run of kind `module`. */
export interface ModuleInput {
  /** Index of the step in the compiled plan. */
  readonly module: number;
  /** Exported function. */
  readonly call: string;
  readonly input: Json;
}

/** What decides the result of a component, apart from its input. */
export const componentFingerprint = (step: CompiledModule, call: string): string =>
  shortHash(JSON.stringify(['component', call, step.fingerprint]));

export const inputHash = (input: Json): string => contentHashOf(canonicalJson(input as FieldValue));

interface Wanted {
  readonly path: string;
  readonly input: ModuleInput;
  readonly hash: string;
  readonly fingerprint: string;
  readonly sizeBytes: number;
  readonly memo: boolean;
}

export class ModuleMounts {
  readonly #place: CallPlace;
  readonly #timer: PausableTimer;
  readonly #children: Child[] = [];
  readonly #paths: string[] = [];
  /** Mounts take turns, so that one at a time waits for room. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(place: CallPlace, timer: PausableTimer) {
    this.#place = place;
    this.#timer = timer;
  }

  async mount(mounting: Mounting): Promise<MountHandle<unknown>> {
    const wanted = this.#want(mounting);
    if (!this.#place.nested.claim(wanted.path)) {
      throw new StepError(
        'invalid',
        `the key "${mounting.key}" is mounted already; give each component of a run a key of its own`,
      );
    }
    this.#paths.push(wanted.path);
    const turn = this.#turn.then(() => this.#mountNext(wanted));
    this.#turn = turn.catch(() => {});
    return this.#timer.pausedFor(turn);
  }

  /** The call ended well: what becomes of its components counts for the run (Y3). */
  async keep(): Promise<void> {
    const { nested } = this.#place;
    // Those that the function began to mount and did not wait for.
    await this.#timer.pausedFor(this.#turn);
    nested.checkAtEnd(() => {
      let unhandled: RunError | undefined;
      for (const child of this.#children) {
        if (child.error === undefined) continue;
        if (child.isAsked) nested.isTainted = true;
        else unhandled ??= child.error;
      }
      return unhandled;
    });
  }

  /** The call failed: waits for its components, and gives their paths back. */
  async undo(): Promise<void> {
    const { run, nested } = this.#place;
    await this.#turn;
    if (!run.cancellation.isCancelled) await run.drained();
    for (const path of this.#paths) nested.disclaim(path);
  }

  #want({ component, key, input, options }: Mounting): Wanted {
    const { step, run } = this.#place;
    const call = step.module.nameOf(component);
    if (call === undefined) {
      throw new StepError(
        'invalid',
        `${step.module.name} must export the component that is mounted as "${key}", so that any runner finds it`,
      );
    }
    if (typeof key !== 'string' || key === '') throw new StepError('invalid', 'the key of a component must be text');
    const plain = asJson(input, key);
    const sizeBytes = Buffer.byteLength(JSON.stringify(plain));
    if (sizeBytes > INPUT_MAX_BYTES) {
      throw new StepError(
        'invalid',
        `the input of the component "${key}" takes ${sizeBytes} bytes, at most ${INPUT_MAX_BYTES} can be passed; pass a reference and read the content in the component`,
      );
    }
    return {
      path: childPath(run.order.path, key),
      input: { module: step.index, call, input: plain },
      hash: inputHash(plain),
      fingerprint: componentFingerprint(step, call),
      sizeBytes,
      memo: options.memo === true,
    };
  }

  async #mountNext(wanted: Wanted): Promise<MountHandle<unknown>> {
    const { run, nested } = this.#place;
    await nested.markChanging();
    const known = wanted.memo ? await this.#known(wanted) : undefined;
    if (known !== undefined) return { ready: async () => known.value };
    while (!run.mounts.hasRoom) await run.cancellation.race(run.mounts.change());
    run.cancellation.throwIfCancelled();
    const child = new Child(this.#timer, (waiting) => run.cancellation.race(waiting));
    this.#children.push(child);
    run.mounts.mount(this.#request(wanted), (outcome) => child.end(outcome));
    return child;
  }

  async #known(wanted: Wanted): Promise<{ readonly value: unknown } | undefined> {
    const { run, services } = this.#place;
    if (run.reprocess) return undefined;
    const [record] = await run.cancellation.race(services.state.components([wanted.path]));
    const isSame =
      record !== undefined &&
      record.contentHash === wanted.hash &&
      record.fingerprint === wanted.fingerprint &&
      record.intended.size === 0;
    return isSame ? { value: record.value } : undefined;
  }

  #request({ path, input, hash, fingerprint, sizeBytes, memo }: Wanted) {
    const { order, reprocess } = this.#place.run;
    const { runnerClass, gpuMilli } = this.#place.step;
    return {
      path,
      kind: 'module' as const,
      input: input as unknown as Json,
      rows: 1,
      bytes: sizeBytes,
      ...(memo ? { version: `${hash} ${fingerprint}${reprocess ? ` ${order.update}` : ''}` } : {}),
      ...(order.source === undefined ? {} : { source: order.source }),
      ...(order.key === undefined ? {} : { key: order.key }),
      ...(runnerClass === undefined ? {} : { runnerClass }),
      ...(gpuMilli === undefined ? {} : { milliCards: gpuMilli }),
      ...(reprocess ? { reprocess: true } : {}),
    };
  }
}

/** One component that was mounted. */
class Child implements MountHandle<unknown> {
  readonly #timer: PausableTimer;
  readonly #race: <T>(waiting: Promise<T>) => Promise<T>;
  readonly #ended = Promise.withResolvers<unknown>();
  error: RunError | undefined;
  /** User code asked how it ended, and so handles its failure. */
  isAsked = false;

  constructor(timer: PausableTimer, race: <T>(waiting: Promise<T>) => Promise<T>) {
    this.#timer = timer;
    this.#race = race;
    this.#ended.promise.catch(() => {});
  }

  ready(): Promise<unknown> {
    this.isAsked = true;
    return this.#timer.pausedFor(this.#race(this.#ended.promise));
  }

  end(outcome: RunOutcome): void {
    if (outcome.kind === 'done') return this.#ended.resolve(outcome.value);
    this.error = errorOf(outcome);
    this.#ended.reject(new RunFailure(this.error));
  }
}

function errorOf(outcome: Exclude<RunOutcome, { readonly kind: 'done' }>): RunError {
  if (outcome.kind === 'failed' || outcome.kind === 'parked') return outcome.error;
  const why = outcome.kind === 'cancelled' ? `was cancelled: ${outcome.why}` : 'was overtaken by newer work';
  return { class: 'transient', message: `a component ${why}`, step: 'module' };
}

/** The value as JSON carries it. */
export function asJson(value: unknown, key: string): Json {
  if (value === undefined) return null;
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return JSON.parse(text) as Json;
  } catch {
    // Said below.
  }
  throw new StepError('invalid', `what is passed to or from the component "${key}" must be JSON`);
}
