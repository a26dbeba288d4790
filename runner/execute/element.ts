// The run of one element of a `forEach`: the steps of the nested component on the element that the parent passed.
import { NO_COUNTS, type RunOutcome } from '../protocol/index.ts';
import { Attempts, Parked } from './attempts.ts';
import { Cancelled } from './cancellation.ts';
import { Content, sourceOf } from './content.ts';
import { toRunError } from './failure.ts';
import { RunMemo } from './memo.ts';
import { type ElementInput, elementHash, elementInput, Nested } from './nested.ts';
import type { CompiledComponent } from './plan.ts';
import { replaceCommit } from './replace.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { type BuildCommit, settle } from './settle.ts';
import { runSteps } from './steps.ts';

export async function executeElement(run: Run, services: Services): Promise<RunOutcome> {
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
    return { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown) };
  }
}

async function produce(run: Run, services: Services, memo: RunMemo): Promise<RunOutcome> {
  const { path, source = '', key = '', input } = run.order;
  const { component: index, element } = elementInput(input);
  const component = services.plan.components[index] as CompiledComponent;
  const opened = await run.cancellation.race(services.opener.ask({ path }));
  const attempts = new Attempts(run, services);
  const item = { source, key, version: '' };
  const content = new Content(run, sourceOf(services, source), attempts, item);
  const nested = new Nested(run, services, { path });
  const place = { run, services, attempts, item, content, memo };
  const exports = await runSteps(component, [element], place, nested);
  await nested.ended();
  if (component.mounts || opened.component !== undefined) await nested.deleteOthers();
  const finished = {
    owner: { path, source, key },
    fingerprint: nested.isTainted ? '' : component.fingerprint,
    contentHash: elementHash((input as unknown as ElementInput).element),
    exports,
    memo,
    reprocess: run.reprocess,
  };
  const build: BuildCommit = (now, token) => replaceCommit(services.plan, finished, now.component, token);
  return settle(run, services, attempts, { path }, opened, build, { kind: 'done', counts: NO_COUNTS });
}
