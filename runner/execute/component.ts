// The run of a component that is no item: an element of a `forEach`, or what user code mounted. It makes something of the input that its parent
// passed; then its rows and its value are one commit.
import { type Json, NO_COUNTS, type RunOutcome } from '../protocol/index.ts';
import { StepError } from '../sdk/index.ts';
import { Attempts, Parked } from './attempts.ts';
import { Cancelled } from './cancellation.ts';
import { decodeElement } from './codec.ts';
import { Content, sourceOf } from './content.ts';
import { toRunError } from './failure.ts';
import type { ElementInput, ModuleInput } from './job.ts';
import { RunMemo } from './memo.ts';
import { callUser, moduleOf } from './module-host.ts';
import { asJson, componentFingerprint, inputHash } from './module-request.ts';
import { bodyOf } from './module-view.ts';
import { INPUT_MAX_BYTES } from './mounts.ts';
import { elementHash, Nested } from './nested.ts';
import type { CompiledComponent } from './plan.ts';
import type { Opened } from './ports.ts';
import { replaceCommit } from './replace.ts';
import { DEFAULT_RETRY } from './retry.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { type BuildCommit, settle } from './settle.ts';
import { runSteps } from './steps.ts';
import { timed } from './timed.ts';
import type { Exports, Workplace } from './workplace.ts';

interface ComponentPlace extends Workplace {
  readonly nested: Nested;
  readonly opened: Opened;
}

/** What a run made, before its children ended. */
interface Made {
  readonly exports: Exports;
  readonly fingerprint: string;
  readonly contentHash: string;
  readonly value?: Json;
  /** Whether children that it did not mount stay. */
  readonly keepsChildren?: boolean;
}

export function executeElement(run: Run, services: Services, input: ElementInput): Promise<RunOutcome> {
  return execute(run, services, async ({ nested, opened, ...place }) => {
    const component = services.plan.components[input.component] as CompiledComponent;
    return {
      exports: await runSteps(component, [decodeElement(input.element)], place, nested),
      fingerprint: component.fingerprint,
      contentHash: elementHash(input.element),
      keepsChildren: !component.mounts && opened.component === undefined,
    };
  });
}

export function executeModule(run: Run, services: Services, wanted: ModuleInput): Promise<RunOutcome> {
  const { module, call, input, life } = wanted;
  return execute(run, services, async (place) => {
    const step = moduleOf(services, module);
    const body = bodyOf(step, call, life);
    const callOnce = async () => {
      const called = await callUser({ ...place, step }, call, body.run, input);
      return { rows: called.rows, value: checked(called.value, call) };
    };
    const { value, rows } = await place.attempts.try('body', 'module', step.retry ?? DEFAULT_RETRY, () =>
      timed(place.run.times, 'step', call, callOnce),
    );
    return {
      exports: rows,
      fingerprint: componentFingerprint(step, call, life),
      contentHash: inputHash(input),
      value,
      keepsChildren: body.keepsChildren,
    };
  });
}

async function execute(
  run: Run,
  services: Services,
  make: (place: ComponentPlace) => Promise<Made>,
): Promise<RunOutcome> {
  const memo = new RunMemo(services.memo, run.reprocess);
  try {
    return await produce(run, services, memo, make);
  } catch (thrown) {
    if (thrown instanceof Cancelled) {
      void services.keep(memo.partial());
      return { kind: 'cancelled', why: thrown.why };
    }
    await services.keep(memo.partial());
    if (thrown instanceof Parked) {
      const { resumeAfterMs, error, resume } = thrown;
      return { kind: 'parked', resumeAfterMs, error, resume };
    }
    const step = run.order.kind === 'module' ? 'module' : undefined;
    return { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown, step) };
  }
}

async function produce(
  run: Run,
  services: Services,
  memo: RunMemo,
  make: (place: ComponentPlace) => Promise<Made>,
): Promise<RunOutcome> {
  const { path, source = '', key = '' } = run.order;
  const opened = await run.cancellation.race(services.opener.ask({ path }));
  const attempts = new Attempts(run, services);
  const item = { source, key, version: '' };
  const content = new Content(run, sourceOf(services, source), attempts, item);
  const nested = new Nested(run, services, { path });
  const { keepsChildren = false, ...made } = await make({
    run,
    services,
    attempts,
    item,
    content,
    memo,
    nested,
    opened,
  });
  await nested.finish(keepsChildren);
  const finished = {
    ...made,
    owner: { path, source, key },
    fingerprint: nested.isTainted ? '' : made.fingerprint,
    memo,
    reprocess: run.reprocess,
  };
  const build: BuildCommit = (now, token) => replaceCommit(services.plan, finished, now.component, token);
  const value = made.value === undefined ? {} : { value: made.value };
  const done: RunOutcome = { kind: 'done', counts: NO_COUNTS, ...value };
  return nested.committed(await settle(run, services, attempts, { path }, opened, build, done));
}

function checked(value: unknown, call: string): Json {
  const plain = asJson(value, call);
  const sizeBytes = Buffer.byteLength(JSON.stringify(plain));
  if (sizeBytes <= INPUT_MAX_BYTES) return plain;
  throw new StepError(
    'invalid',
    `the component "${call}" returned ${sizeBytes} bytes, at most ${INPUT_MAX_BYTES} can be passed; declare rows, or return a reference`,
  );
}
