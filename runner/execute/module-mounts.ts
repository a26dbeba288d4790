// Components that one call of user code mounts.
//
//   Y1. A key is mounted once; a component is an exported function of the step's module, so that any runner finds it by name.
//   Y2. With `memo`, a component that the state knows under the same input and code costs a comparison: no run, and its value is that of last time.
//   Y3. A failure that user code asked for is handled there, and the component above runs again with the next cycle. One that nobody asked for
//       fails the run above once all its components have ended.
//   Y4. Mounting follows the slots: a bounded number of components wait to start.
//   Y5. A component that is to live on (module-live.ts) runs once like any other; it lives on once that and the run above are committed.
import type { RunError, RunOutcome } from '../protocol/index.ts';
import { type LiveMounting, type MountHandle, type Mounting, StepError } from '../sdk/index.ts';
import { RunFailure } from './failure.ts';
import { failedEntriesOf, lifeOf } from './live.ts';
import { isKnown, moduleRequest, type Wanted, wantedOf } from './module-request.ts';
import type { PausableTimer } from './module-timer.ts';
import type { CallPlace } from './workplace.ts';

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
    const { step, run } = this.#place;
    return this.#mount(wantedOf(step, run.order.path, mounting), mounting.key, mounting.options.memo === true);
  }

  /** Its first run; what follows begins when the run above is committed. */
  async mountLive(mounting: LiveMounting): Promise<MountHandle<unknown>> {
    const { step, run } = this.#place;
    return this.#mount(wantedOf(step, run.order.path, mounting, lifeOf(step, mounting)), mounting.key, false);
  }

  /** The call ended well: what becomes of its components counts for the run (Y3). */
  async keep(): Promise<void> {
    // Those that the function began to mount and did not wait for.
    await this.#timer.pausedFor(this.#turn);
    this.#place.nested.checkAtEnd(() => this.#check());
  }

  /** The call failed: waits for its components, and gives their paths back. */
  async undo(): Promise<void> {
    const { run, nested } = this.#place;
    await this.#turn;
    if (!run.cancellation.isCancelled) await run.drained();
    for (const path of this.#paths) nested.disclaim(path);
  }

  #check(): RunError | undefined {
    const { nested } = this.#place;
    let unhandled: RunError | undefined;
    for (const { wanted, error, isAsked, value } of this.#children) {
      if (error !== undefined && isAsked) nested.isTainted = true;
      else if (error !== undefined) unhandled ??= error;
      else if (wanted.input.life !== undefined) nested.liveOn(wanted, failedEntriesOf(wanted.input.life, value));
    }
    return unhandled;
  }

  async #mount(wanted: Wanted, key: string, memo: boolean): Promise<MountHandle<unknown>> {
    if (!this.#place.nested.claim(wanted.path)) {
      throw new StepError(
        'invalid',
        `the key "${key}" is mounted already; give each component of a run a key of its own`,
      );
    }
    this.#paths.push(wanted.path);
    const turn = this.#turn.then(() => this.#mountNext(wanted, memo));
    this.#turn = turn.catch(() => {});
    return this.#timer.pausedFor(turn);
  }

  async #mountNext(wanted: Wanted, memo: boolean): Promise<MountHandle<unknown>> {
    const { run, nested, step } = this.#place;
    await nested.markChanging();
    const known = memo && !run.reprocess ? await this.#known(wanted) : undefined;
    if (known !== undefined) return { ready: async () => known.value };
    while (!run.mounts.hasRoom) await run.cancellation.race(run.mounts.change());
    run.cancellation.throwIfCancelled();
    const child = new Child(wanted, this.#timer, (waiting) => run.cancellation.race(waiting));
    this.#children.push(child);
    const request = moduleRequest(wanted, run.order, step, { isShared: memo, reprocess: run.reprocess });
    run.mounts.mount(request, (outcome) => child.end(outcome));
    return child;
  }

  async #known(wanted: Wanted): Promise<{ readonly value: unknown } | undefined> {
    const { run, services } = this.#place;
    const [record] = await run.cancellation.race(services.state.components([wanted.path]));
    return isKnown(record, wanted) ? { value: record.value } : undefined;
  }
}

/** One component that was mounted. */
class Child implements MountHandle<unknown> {
  readonly wanted: Wanted;
  readonly #timer: PausableTimer;
  readonly #race: <T>(waiting: Promise<T>) => Promise<T>;
  readonly #ended = Promise.withResolvers<unknown>();
  error: RunError | undefined;
  value: unknown;
  /** User code asked how it ended, and so handles its failure. */
  isAsked = false;

  constructor(wanted: Wanted, timer: PausableTimer, race: <T>(waiting: Promise<T>) => Promise<T>) {
    this.wanted = wanted;
    this.#timer = timer;
    this.#race = race;
    this.#ended.promise.catch(() => {});
  }

  ready(): Promise<unknown> {
    this.isAsked = true;
    return this.#timer.pausedFor(this.#race(this.#ended.promise));
  }

  end(outcome: RunOutcome): void {
    if (outcome.kind === 'done') {
      this.value = outcome.value;
      return this.#ended.resolve(outcome.value);
    }
    this.error = errorOf(outcome);
    this.#ended.reject(new RunFailure(this.error));
  }
}

function errorOf(outcome: Exclude<RunOutcome, { readonly kind: 'done' }>): RunError {
  if (outcome.kind === 'failed' || outcome.kind === 'parked') return outcome.error;
  const why = outcome.kind === 'cancelled' ? `was cancelled: ${outcome.why}` : 'was overtaken by newer work';
  return { class: 'transient', message: `a component ${why}`, step: 'module' };
}
