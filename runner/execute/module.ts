// The run of a component that user code mounted: its function on the input that the parent passed, then its rows and its value in one commit.
import { type Json, NO_COUNTS, type RunOutcome } from '../protocol/index.ts';
import { StepError } from '../sdk/index.ts';
import { Attempts, Parked } from './attempts.ts';
import { Cancelled } from './cancellation.ts';
import { Content, sourceOf } from './content.ts';
import { toRunError } from './failure.ts';
import { RunMemo } from './memo.ts';
import { callUser } from './module-host.ts';
import { asJson, componentFingerprint, inputHash, type ModuleInput } from './module-mounts.ts';
import { INPUT_MAX_BYTES, Nested } from './nested.ts';
import type { CompiledModule } from './plan.ts';
import { replaceCommit } from './replace.ts';
import { DEFAULT_RETRY } from './retry.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { type BuildCommit, settle } from './settle.ts';
import { timed } from './timed.ts';
import type { CallPlace } from './workplace.ts';

export async function executeModule(run: Run, services: Services): Promise<RunOutcome> {
  const memo = new RunMemo(services.memo, run.reprocess);
  try {
    return await produce(run, services, memo);
  } catch (thrown) {
    if (thrown instanceof Cancelled) {
      void services.keep(memo.partial());
      return { kind: 'cancelled', why: thrown.why };
    }
    await services.keep(memo.partial());
    if (thrown instanceof Parked) {
      return { kind: 'parked', resumeAfterMs: thrown.resumeAfterMs, error: thrown.error, resume: thrown.resume };
    }
    return { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown, 'module') };
  }
}

async function produce(run: Run, services: Services, memo: RunMemo): Promise<RunOutcome> {
  const { path, source = '', key = '' } = run.order;
  const { module, call, input } = run.order.input as unknown as ModuleInput;
  const step = stepOf(services, module);
  const opened = await run.cancellation.race(services.opener.ask({ path }));
  const attempts = new Attempts(run, services);
  const item = { source, key, version: '' };
  const content = new Content(run, sourceOf(services, source), attempts, item);
  const nested = new Nested(run, services, { path });
  const place: CallPlace = { run, services, attempts, item, content, memo, step, nested };
  const body = async () => {
    const called = await callUser(place, call, input);
    return { rows: called.rows, value: checked(called.value, call) };
  };
  const { value, rows } = await attempts.try('body', 'module', step.retry ?? DEFAULT_RETRY, () =>
    timed(run.times, 'step', call, body),
  );
  await nested.ended();
  await nested.deleteOthers();
  const finished = {
    owner: { path, source, key },
    fingerprint: nested.isTainted ? '' : componentFingerprint(step, call),
    contentHash: inputHash(input),
    exports: rows,
    memo,
    reprocess: run.reprocess,
    value,
  };
  const build: BuildCommit = (now, token) => replaceCommit(services.plan, finished, now.component, token);
  return settle(run, services, attempts, { path }, opened, build, { kind: 'done', counts: NO_COUNTS, value });
}

function stepOf(services: Services, index: number): CompiledModule {
  const step = services.plan.modules[index];
  if (step !== undefined) return step;
  throw new StepError(
    'transient',
    'this runner has another version of the Pipeline than the one that mounted the component',
  );
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
