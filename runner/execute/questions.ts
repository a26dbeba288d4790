// Answers to questions about state and targets (runner/protocol/questions.ts).
import {
  itemPath,
  type Json,
  NO_COUNTS,
  pathKeys,
  type Question,
  type RunOutcome,
  type Verified,
} from '../protocol/index.ts';
import { auditTargets } from './audit.ts';
import { Cancelled } from './cancellation.ts';
import { toRunError } from './failure.ts';
import { takeOverLeft } from './left-over.ts';
import type { NewWork } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { troubledPage } from './troubled.ts';
import { executeUpdate } from './update.ts';
import { Worker } from './worker.ts';

const ENTERED_AT_ONCE = 1_000;

export async function executeQuestion(run: Run, services: Services, question: Question): Promise<RunOutcome> {
  if (question.ask === 'repair') return executeRepair(run, services);
  try {
    return { kind: 'done', counts: NO_COUNTS, value: await answerTo(question, run, services) };
  } catch (thrown) {
    if (thrown instanceof Cancelled) return { kind: 'cancelled', why: thrown.why };
    return { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown, question.ask) };
  }
}

async function answerTo(
  question: Exclude<Question, { readonly ask: 'repair' }>,
  run: Run,
  services: Services,
): Promise<Json> {
  if (question.ask === 'verify') return (await audit(run, services)).found;
  return run.cancellation.race(troubledPage(services.state, question.after));
}

function audit(run: Run, { state, plan }: Services) {
  return auditTargets({ state, targets: plan.targets, wait: (answer) => run.cancellation.race(answer) });
}

/** Processes the items again whose components own rows that differ, and removes rows that no item owns. */
function executeRepair(run: Run, services: Services): Promise<RunOutcome> {
  return executeUpdate(run, services, async (tally) => {
    const left = await takeOverLeft(run, services, services.sources.keys());
    const worker = new Worker(run, services, tally, left);
    const { owners } = await audit(run, services);
    const all = [...owners];
    for (let at = 0; at < all.length; at += ENTERED_AT_ONCE)
      await mend(run, services, worker, all.slice(at, at + ENTERED_AT_ONCE));
    tally.listingEnded();
    await worker.finish();
    const { found } = await audit(run, services);
    const value: Verified & { readonly repaired: number } = { ...found, repaired: owners.size };
    return { kind: 'done', counts: tally.counts, value };
  });
}

async function mend(run: Run, services: Services, worker: Worker, owners: readonly string[]): Promise<void> {
  const { state, sources } = services;
  const items = new Map<string, NewWork>();
  const seenAtMs = await run.cancellation.race(state.nowMs());
  for (const owner of owners) {
    const [source = '', key = ''] = pathKeys(owner);
    const item = sources.has(source) ? await run.cancellation.race(state.item(source, key)) : undefined;
    if (item === undefined) await removeRows(run, services, owner);
    else items.set(itemPath(source, key), workOn(run, item, seenAtMs));
  }
  await worker.enter([...items.values()]);
}

const workOn = (
  { order: { update } }: Run,
  { source, key, version }: Pick<NewWork, 'source' | 'key' | 'version'>,
  seenAtMs: number,
): NewWork => ({ source, key, action: 'process', version, update, seenAtMs, reprocess: true });

async function removeRows(run: Run, { plan }: Services, owner: string): Promise<void> {
  const change = { owner, deleteAll: true, upserts: [], touches: [], deletes: [] };
  for (const target of plan.targets) await run.cancellation.race(target.apply([change]));
}
