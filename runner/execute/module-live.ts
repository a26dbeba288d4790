// The `watch` run of a component that lives on: waits for time to pass or for changes, and has what is due executed as updates of their own. It
// takes no slot and ends by cancellation, or when there is nothing more to wait for.
//
//   W1. What may have been missed is made up for first: each time that it begins to listen, after a restart and after a failure, everything is
//       processed again once.
//   W2. User code that fails is told and begun again with back-off.
//   W3. User code here can mount nothing but through its operator.
import { childPath, type Json, NO_COUNTS, type RunOutcome } from '../protocol/index.ts';
import {
  type Component,
  enterRun,
  type LiveChange,
  type LiveComponent,
  type LiveOperator,
  type LiveOutcome,
  type LiveView,
  type RunHost,
  StepError,
} from '../sdk/index.ts';
import { backOffMs } from './back-off.ts';
import { Cancelled } from './cancellation.ts';
import { toRunError } from './failure.ts';
import type { LiveInput, ModuleInput } from './job.ts';
import type { LiveRecord } from './live.ts';
import { LiveMemo } from './live-memo.ts';
import { LiveOperations } from './live-operations.ts';
import { functionOf, moduleOf } from './module-host.ts';
import { FunctionMemo } from './module-memo.ts';
import {
  asJson,
  componentFingerprint,
  inputHash,
  isKnown,
  moduleRequest,
  type Wanted,
  wantedOf,
} from './module-request.ts';
import { INPUT_MAX_BYTES } from './mounts.ts';
import { deleteRequest } from './nested.ts';
import type { CompiledModule } from './plan.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

const RESTRICTION = 'the live part of a component';

export async function executeLive(run: Run, services: Services, input: LiveInput): Promise<RunOutcome> {
  try {
    await new Living(run, services, input).live();
    return { kind: 'done', counts: NO_COUNTS };
  } catch (thrown) {
    if (thrown instanceof Cancelled) return { kind: 'cancelled', why: thrown.why };
    return { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown, 'module') };
  }
}

class Living {
  readonly #run: Run;
  readonly #services: Services;
  readonly #input: LiveInput;
  readonly #step: CompiledModule;
  readonly #operations: LiveOperations;
  readonly #memo: FunctionMemo;
  /** Whether the first run of the component, or a pass, came right before. */
  #isCaughtUp: boolean;

  constructor(run: Run, services: Services, input: LiveInput) {
    this.#run = run;
    this.#services = services;
    this.#input = input;
    this.#step = moduleOf(services, this.#input.module);
    this.#operations = new LiveOperations(run.mounts);
    this.#memo = new FunctionMemo(new LiveMemo(services), this.#step.module.identity);
    this.#isCaughtUp = this.#input.isCaughtUp && run.order.token.attempt === 1;
    run.cancellation.onCancel(() => this.#operations.close());
  }

  async live(): Promise<void> {
    const { cancellation } = this.#run;
    for (let failures = 1; ; failures += 1) {
      try {
        return await cancellation.race(
          enterRun(this.#host(), RESTRICTION, () =>
            this.#begin(() => {
              failures = 0;
            }),
          ),
        );
      } catch (thrown) {
        if (cancellation.isCancelled) throw thrown;
        this.#isCaughtUp = false;
        this.#log(`the live part of "${this.#input.call}" failed and is begun again: ${toRunError(thrown).message}`);
      }
      await cancellation.sleep(this.#services.clock, backOffMs(failures, this.#services.random));
    }
  }

  /** `onWorking`: it does what it is to do, so the next failure is a first one. */
  #begin(onWorking: () => void): Promise<void> {
    const { life } = this.#input;
    if (life.kind === 'refresh') return this.#refresh(life.everyMs);
    return life.kind === 'live' ? this.#listen() : this.#follow(life, onWorking);
  }

  /** Cycles never overlap: the wait begins when the last one ended. */
  async #refresh(everyMs: number): Promise<never> {
    for (;;) {
      if (this.#isCaughtUp) await this.#run.cancellation.sleep(this.#services.clock, everyMs);
      this.#isCaughtUp = true;
      await this.#full();
    }
  }

  async #listen(): Promise<void> {
    const { processLive } = functionOf(this.#step.module, this.#input.call) as unknown as LiveComponent<Json>;
    if (!this.#isCaughtUp) await this.#full();
    await processLive(this.#input.input, this.#operator());
  }

  /** Keeps to the changes of a view. */
  async #follow(life: LiveInput['life'] & { readonly kind: 'each' }, onWorking: () => void): Promise<void> {
    const view = functionOf(this.#step.module, this.#input.call) as unknown as LiveView<Json, unknown>;
    const each = functionOf(this.#step.module, life.each) as unknown as Component<unknown, unknown>;
    const batches = view.watch(this.#input.input, this.#operator())[Symbol.asyncIterator]();
    const stopNet = this.#rescanEvery(view.scan === undefined ? undefined : life.rescanMs);
    try {
      for (let isArmed = false; ; isArmed = true) {
        const batch = await this.#run.cancellation.race(batches.next());
        if (batch.done === true) return;
        onWorking();
        if (!isArmed && view.scan !== undefined) this.#catchUp();
        await this.#take(batch.value, view, each, life.memo);
      }
    } finally {
      stopNet();
      void batches.return?.().catch(() => {});
    }
  }

  /** In their order: what was asked for last of a key is what is done last. */
  async #take(
    changes: readonly LiveChange<unknown>[],
    view: LiveView<Json, unknown>,
    each: Component<unknown, unknown>,
    memo: boolean,
  ): Promise<void> {
    const wanted = changes.map((change) =>
      'input' in change ? this.#want(change.key, each, change.input) : undefined,
    );
    const known = memo ? await this.#known(wanted) : new Set<Wanted>();
    for (const [at, change] of changes.entries()) {
      const update = wanted[at];
      if ('rescan' in change) this.#rescan(view);
      else if (update === undefined) void this.#delete((change as { readonly key: string }).key);
      // Equal inputs are no change, unless something that is under way made one.
      else if (!known.has(update) || this.#operations.isBusy(update.path)) void this.#update(update);
    }
  }

  /** Those that the state knows under the same input. */
  async #known(all: readonly (Wanted | undefined)[]): Promise<ReadonlySet<Wanted>> {
    const some = all.filter((wanted) => wanted !== undefined);
    if (some.length === 0) return new Set();
    const records = await this.#services.state.components(some.map(({ path }) => path));
    return new Set(some.filter((wanted, at) => isKnown(records[at], wanted)));
  }

  #rescan(view: LiveView<Json, unknown>): void {
    if (view.scan === undefined) throw new StepError('invalid', 'a feed cannot be scanned again: it has no "scan"');
    this.#catchUp();
  }

  /** Processes everything, and again with back-off while that fails. */
  #catchUp(): void {
    const { cancellation } = this.#run;
    const { clock, random } = this.#services;
    const pass = async (): Promise<void> => {
      for (let failures = 1; (await this.#full()) === 'failed'; failures += 1)
        await cancellation.sleep(clock, backOffMs(failures, random));
    };
    // Only a cancellation ends it otherwise.
    pass().catch(() => {});
  }

  #rescanEvery(everyMs: number | undefined): () => void {
    if (everyMs === undefined) return () => {};
    let stop = (): void => {};
    const again = (): void => {
      stop = this.#services.clock.after(everyMs, () => void this.#full().then(again));
    };
    again();
    const cancel = (): void => stop();
    this.#run.cancellation.onCancel(cancel);
    return () => {
      this.#run.cancellation.forget(cancel);
      stop();
    };
  }

  #operator(): LiveOperator {
    return {
      signal: this.#run.cancellation.signal,
      settings: this.#step.settings,
      updateFull: () => this.#full(),
      update: (key, component, input) => this.#update(this.#want(key, component, input)),
      delete: (key) => this.#delete(key),
      readState: async () => (await this.#record())?.state,
      writeState: (value) => this.#writeState(value),
      log: (text) => this.#log(String(text)),
    };
  }

  #full(): Promise<LiveOutcome> {
    const { isCaughtUp: _, ...input } = this.#input;
    const { call, life } = input;
    const wanted: Wanted = {
      path: this.#run.order.path,
      input: input as ModuleInput,
      hash: inputHash(input.input),
      fingerprint: componentFingerprint(this.#step, call, life),
      sizeBytes: Buffer.byteLength(JSON.stringify(input.input)),
    };
    return this.#operations.full(this.#request(wanted));
  }

  #want<Input>(key: string, component: Component<Input, unknown>, input: Input): Wanted {
    return wantedOf(this.#step, this.#run.order.path, {
      component: component as Component<never, unknown>,
      key,
      input,
    });
  }

  #update(wanted: Wanted): Promise<LiveOutcome> {
    return this.#operations.key(this.#request(wanted));
  }

  #delete(key: string): Promise<LiveOutcome> {
    return this.#operations.key(deleteRequest(this.#run, childPath(this.#run.order.path, key)));
  }

  #request(wanted: Wanted) {
    return moduleRequest(wanted, this.#run.order, this.#step);
  }

  async #record(): Promise<LiveRecord | undefined> {
    return (await this.#services.state.cursor(this.#run.order.path)) as LiveRecord | undefined;
  }

  async #writeState(value: unknown): Promise<void> {
    const state = asJson(value, 'the state of a live component');
    if (Buffer.byteLength(JSON.stringify(state)) > INPUT_MAX_BYTES)
      throw new StepError('invalid', `writeState: at most ${INPUT_MAX_BYTES} bytes are kept`);
    const record = await this.#record();
    if (record === undefined) return;
    await this.#services.state.setCursor(this.#run.order.path, { ...record, state });
  }

  #log(text: string): void {
    const { source = '', key = '' } = this.#run.order;
    this.#services.notes.add({ source, key, version: '' }, text);
  }

  /** Around user code; what it may not do here is refused before it comes to this. */
  #host(): RunHost {
    const refuse = (): never => {
      throw new StepError('invalid', `not in ${RESTRICTION}`);
    };
    return {
      signal: this.#run.cancellation.signal,
      clock: this.#services.clock,
      memoised: (id, input, compute) => this.#memo.call(id, input, compute),
      update: this.#run.order.update,
      withCard: refuse,
      declareRow: refuse,
      mount: refuse,
      mountLive: refuse,
      progress: () => {},
    };
  }
}
