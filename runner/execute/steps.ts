// Executes the steps of one component in order.
//
//   S1. A step gets what the one before it returned; `export` and `forEach` pass on what they got.
//   S2. Nothing leaves the run here: rows are gathered per target and written by the commit.
//   S3. A step that does not come back is left alone at its timeout; what it returns later is not looked at (F29, F30).
//   S4. A failing step is tried again by itself, with all that it put into the memo.
import type { Element } from '../sdk/index.ts';
import { StepError } from '../sdk/index.ts';
import { callsOf } from './calls.ts';
import { Cancelled } from './cancellation.ts';
import { callModuleStep } from './module-step.ts';
import type { Nested } from './nested.ts';
import type { CompiledComponent, CompiledStep } from './plan.ts';
import type { StepContext, Target } from './ports.ts';
import { DEFAULT_RETRY } from './retry.ts';
import { timed } from './timed.ts';
import { addRows, type Exports, holdCard, type Workplace } from './workplace.ts';

type CalledStep = Extract<CompiledStep, { readonly step: unknown }>;

export async function runSteps(
  component: CompiledComponent,
  input: readonly Element[],
  place: Workplace,
  nested: Nested | undefined,
): Promise<Exports> {
  const exports = new Map<Target, Element[]>();
  let elements = input;
  for (const [index, step] of component.steps.entries()) {
    if ('step' in step) elements = await tryStep(step, index, elements, place);
    else if ('target' in step) addRows(exports, step.target, elements);
    else if ('module' in step) {
      const called = await callModuleStep(step, index, elements, place, nested);
      for (const [target, rows] of called.rows) addRows(exports, target, rows);
      elements = called.value;
    } else await nested?.mountElements(step, elements);
  }
  return exports;
}

function tryStep(
  step: CalledStep,
  index: number,
  elements: readonly Element[],
  place: Workplace,
): Promise<readonly Element[]> {
  const { times } = place.run;
  const body = (): Promise<readonly Element[]> =>
    timed(times, 'step', step.verb, () => callStep(step, elements, place), elements.length);
  return place.attempts.try(`${index} ${step.verb}`, step.verb, step.retry ?? DEFAULT_RETRY, body);
}

async function callStep(step: CalledStep, elements: readonly Element[], place: Workplace): Promise<readonly Element[]> {
  const { cancellation } = place.run;
  cancellation.throwIfCancelled();
  // With a card, waiting for it costs no time: each body bounds its own.
  if (step.timeoutMs === undefined || step.gpuMilli !== undefined) {
    return cancellation.race(
      step.step.run(
        elements,
        contextOf(step, place, () => cancellation.signal),
      ),
    );
  }
  return withTimeout(place, step.verb, step.timeoutMs, (signalOf) =>
    step.step.run(elements, contextOf(step, place, signalOf)),
  );
}

function contextOf(step: CalledStep, place: Workplace, signalOf: () => AbortSignal): StepContext {
  return {
    item: place.item,
    get signal() {
      return signalOf();
    },
    reprocess: place.run.reprocess,
    content: (maxBytes) => place.content.need(maxBytes),
    memo: place.memo,
    get calls() {
      return callsOf(place.run, place.services);
    },
    note: (text) => place.services.notes.add(place.item, text),
    update: place.run.order.update,
    withCard: (body, signal) => holdCard(step.gpuMilli, place, signal === undefined ? signalOf : () => signal, body),
  };
}

async function withTimeout<T>(
  { run, services }: Workplace,
  verb: string,
  timeoutMs: number,
  body: (signalOf: () => AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = new LateSignal();
  const expired = Promise.withResolvers<never>();
  const abort = (): void => signal.abort(new Cancelled('the run was cancelled'));
  run.cancellation.onCancel(abort);
  const stop = services.clock.after(timeoutMs, () => {
    const error = new StepError('timeout', `the step "${verb}" did not answer within ${timeoutMs} ms`);
    expired.reject(error);
    signal.abort(error);
  });
  try {
    return await run.cancellation.race(Promise.race([body(() => signal.get()), expired.promise]));
  } finally {
    stop();
    run.cancellation.forget(abort);
  }
}

/** An AbortSignal that is made when somebody asks for it: most steps never do. */
class LateSignal {
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  get(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
