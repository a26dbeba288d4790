// One call of user code, and what it does to its run: the far side of the SDK.
//
//   X1. A call that fails leaves nothing: rows that it declared are dropped, paths that it took are free again, and the next try begins once the
//       components that it mounted have ended.
//   X2. The call's time stands still while it waits for components, for room to mount them, or for a card.
//   X3. A call that ended answers no more.

import type { Clock } from '../clock.ts';
import type { Element } from '../sdk/index.ts';
import {
  type Cards,
  enterRun,
  type LiveMounting,
  type MemoId,
  type ModuleContext,
  type MountHandle,
  type Mounting,
  type Progress,
  type RunHost,
  StepError,
} from '../sdk/index.ts';
import { Cancelled } from './cancellation.ts';
import { RunFailure, toRunError } from './failure.ts';
import { FunctionMemo } from './module-memo.ts';
import { ModuleMounts } from './module-mounts.ts';
import { PausableTimer } from './module-timer.ts';
import type { CompiledModule } from './plan.ts';
import type { Target, UserFunction, UserModule } from './ports.ts';
import type { Services } from './services.ts';
import { type CallPlace, holdCard } from './workplace.ts';

const CONTENT_MAX_BYTES = 16 * 1024 * 1024;

/** What a call gave. */
export interface Called<T> {
  readonly value: T;
  readonly rows: ReadonlyMap<Target, readonly Element[]>;
}

/** The exported function. Throws StepError where there is none. */
export function functionOf(module: UserModule, name: string): UserFunction {
  const found = module.find(name);
  if (found !== undefined) return found;
  throw new StepError('invalid', `${module.name} exports no function "${name}"`);
}

/** The step whose module mounted a component. */
export function moduleOf(services: Services, index: number): CompiledModule {
  const step = services.plan.modules[index];
  if (step !== undefined) return step;
  throw new StepError(
    'transient',
    'this runner has another version of the Pipeline than the one that mounted the component',
  );
}

/** Calls user code once. Throws what it throws, with the lines of user code where the failure has no class of its own. `name`: for people. */
export function callUser(place: CallPlace, name: string, body: UserFunction, input: unknown): Promise<Called<unknown>> {
  return new Call(place, name).execute(body, input);
}

class Call implements RunHost {
  readonly clock: Clock;
  readonly #place: CallPlace;
  readonly #name: string;
  readonly #rows = new Map<Target, Element[]>();
  readonly #memo: FunctionMemo;
  readonly #mounts: ModuleMounts;
  readonly #controller = new AbortController();
  readonly #timer: PausableTimer;
  readonly #expired = Promise.withResolvers<never>();
  #isOpen = true;

  constructor(place: CallPlace, name: string) {
    const { services, step, memo } = place;
    this.#place = place;
    this.#name = name;
    this.clock = services.clock;
    this.#memo = new FunctionMemo(memo, step.module.identity);
    this.#timer = new PausableTimer(services.clock, step.timeoutMs, () => this.#expire());
    this.#mounts = new ModuleMounts(place, this.#timer);
    this.#expired.promise.catch(() => {});
  }

  get update(): string {
    return this.#place.run.order.update;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async execute(body: UserFunction, input: unknown): Promise<Called<unknown>> {
    const { cancellation } = this.#place.run;
    const abort = (): void => this.#controller.abort(new Cancelled('the run was cancelled'));
    cancellation.throwIfCancelled();
    cancellation.onCancel(abort);
    this.#timer.start();
    try {
      const ended = enterRun(this, undefined, async () => body(input as never, this.#context() as never));
      const value = await cancellation.race(Promise.race([ended, this.#expired.promise]));
      this.#isOpen = false;
      await this.#mounts.keep();
      return { value, rows: this.#rows };
    } catch (thrown) {
      this.#isOpen = false;
      await this.#mounts.undo();
      throw this.#explained(thrown);
    } finally {
      this.#timer.stop();
      cancellation.forget(abort);
    }
  }

  memoised(id: MemoId, input: unknown, compute: () => Promise<unknown>): Promise<unknown> {
    return this.#memo.call(id, input, compute);
  }

  declareRow(name: string, row: Element): void {
    this.#checkOpen();
    const { targets } = this.#place.services.plan;
    const target = targets.find((one) => one.name === name);
    if (target === undefined) {
      const known = targets.map((one) => `"${one.name}"`).join(', ');
      throw new StepError('invalid', `declareRow: the Pipeline has no target "${name}"; it has ${known}`);
    }
    const problem = problemOf(row);
    if (problem !== undefined) throw new StepError('invalid', `declareRow: a row ${problem}`);
    const rows = this.#rows.get(target);
    if (rows === undefined) this.#rows.set(target, [row]);
    else rows.push(row);
  }

  mount(mounting: Mounting): Promise<MountHandle<unknown>> {
    this.#checkOpen();
    return this.#mounts.mount(mounting);
  }

  mountLive(mounting: LiveMounting): Promise<MountHandle<unknown>> {
    this.#checkOpen();
    return this.#mounts.mountLive(mounting);
  }

  progress(progress: Progress): void {
    if (this.#isOpen) this.#place.run.progress = progress;
  }

  #context(): ModuleContext {
    const { item, content, services, step, run } = this.#place;
    return {
      item,
      settings: step.settings,
      signal: this.signal,
      reprocess: run.reprocess,
      traceparent: run.times?.traceparent,
      content: async (maxBytes = CONTENT_MAX_BYTES) => (await content.need(maxBytes)).bytes,
      log: (text) => services.notes.add(item, String(text)),
      withCard: (body) => this.withCard(body),
    };
  }

  withCard<T>(body: (cards: Cards | undefined) => Promise<T>, signal = this.signal): Promise<T> {
    this.#checkOpen();
    const restricted = (cards: Cards | undefined): Promise<T> =>
      enterRun(this, 'a body that holds a card', () => body(cards), cards);
    const wait = <H>(waiting: Promise<H>): Promise<H> => this.#timer.pausedFor(waiting);
    return holdCard(this.#place.step.gpuMilli, this.#place, () => signal, restricted, wait);
  }

  #checkOpen(): void {
    if (this.#isOpen) return;
    throw new StepError('invalid', `"${this.#name}" has ended already: await what it starts before it returns`);
  }

  #expire(): void {
    const { timeoutMs } = this.#place.step;
    const error = new StepError('timeout', `"${this.#name}" did not end within ${timeoutMs} ms of its own time`);
    this.#expired.reject(error);
    this.#controller.abort(error);
  }

  #explained(thrown: unknown): unknown {
    const hasClass = thrown instanceof StepError || thrown instanceof RunFailure || thrown instanceof Cancelled;
    if (hasClass || !(thrown instanceof Error)) return thrown;
    const error = toRunError(thrown);
    const frames = this.#place.step.module.framesOf(thrown.stack ?? '');
    const kind = thrown.name === 'Error' ? '' : `${thrown.name}: `;
    return new RunFailure({
      ...error,
      message: [`${kind}${error.message}`, ...frames.map((at) => `at ${at}`)].join('\n  '),
    });
  }
}

/** What is wrong with an element that user code made; undefined: nothing. */
export function problemOf(element: unknown): string | undefined {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return 'must be an object';
  const { text, bytes, vector, fields } = element as { readonly [name: string]: unknown };
  if (text !== undefined && typeof text !== 'string') return 'has a "text" that is no string';
  if (bytes !== undefined && !(bytes instanceof Uint8Array)) return 'has "bytes" that are no Uint8Array';
  if (vector !== undefined && !(vector instanceof Float32Array)) return 'has a "vector" that is no Float32Array';
  if (fields !== undefined && (typeof fields !== 'object' || fields === null)) return 'has "fields" that are no object';
  return undefined;
}
