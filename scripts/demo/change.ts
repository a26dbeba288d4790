// Measures how long a change takes to be searchable while everything else is processed again.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPipelines } from '../../cli/local/objects.ts';
import { LocalPipeline } from '../../cli/local/pipeline.ts';
import { type EndedUpdate, type Reporter, SILENT } from '../../cli/local/report.ts';
import type { ServingRule } from '../../operator/admission/index.ts';
import { systemClock } from '../../runner/clock.ts';
import type { Scratch } from './scratch.ts';

/** Part of the re-index that is done when the file is saved. */
const BEGIN_AT = 0.1;
const LOOK_EVERY_MS = 2;

export interface Measured {
  /** From the save to the first search that finds it. */
  readonly searchableMs: number;
  /** Items that the re-index had done by then. */
  readonly doneItems: number;
  readonly totalItems: number;
  readonly reindexMs: number;
}

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, LOOK_EVERY_MS));

/** Tells when the first cycle of the watched source ended: from then on every change is seen. */
class Arming implements Reporter {
  readonly progress = SILENT.progress;
  readonly failed = SILENT.failed;
  readonly note = SILENT.note;
  readonly event = SILENT.event;
  readonly close = SILENT.close;
  readonly #armed = Promise.withResolvers<void>();

  ended(update: EndedUpdate): void {
    if (update.kind === 'cycle') this.#armed.resolve();
  }

  get armed(): Promise<void> {
    return this.#armed.promise;
  }
}

export async function measureChange(options: {
  readonly scratch: Scratch;
  readonly rule: ServingRule;
  readonly slots: number;
}): Promise<Measured> {
  const { scratch, rule, slots } = options;
  const stdin = async () => '';
  const [objects] = await loadPipelines(scratch.objects, { cwd: scratch.folder, environment: {}, stdin });
  const reporter = new Arming();
  const pipeline = await LocalPipeline.open(objects!, { clock: systemClock, environment: {}, reporter, rule, slots });
  try {
    pipeline.watch(false);
    await reporter.armed;
    return await changeDuringReindex(pipeline, scratch);
  } finally {
    await pipeline.close();
  }
}

async function changeDuringReindex(pipeline: LocalPipeline, { tree }: Scratch): Promise<Measured> {
  const file = await lastFile(pipeline);
  const beganAtMs = performance.now();
  const reindex = pipeline.update({ kind: 'pipeline', trigger: 'demo', reprocess: true });
  const progress = () =>
    [...pipeline.host.dispatcher.updates.values()].find(({ kind }) => kind === 'pipeline')?.progress;
  for (let now = progress(); now !== undefined && (!now.listed || now.done < now.total * BEGIN_AT); now = progress())
    await pause();
  const word = `moored${Date.now().toString(36)}`;
  appendFileSync(join(tree, file), `\n// ${word}\n`);
  const savedAtMs = performance.now();
  while (!(await isSearchable(pipeline, word))) await pause();
  const searchableMs = performance.now() - savedAtMs;
  const doneItems = progress()?.done;
  const { counts } = await reindex;
  const totalItems = counts.reprocessed + counts.superseded + counts.unchanged + counts.failed;
  return { searchableMs, doneItems: doneItems ?? totalItems, totalItems, reindexMs: performance.now() - beganAtMs };
}

/** The file whose turn in the re-index comes last, so that the re-index itself does not bring the change. */
async function lastFile({ assembly }: LocalPipeline): Promise<string> {
  let last = '';
  for (let after = 0; ; ) {
    const page = await assembly.stores.state.scanItems({}, after, 1_000);
    const text = page.filter(({ key }) => key.endsWith('.ts'));
    last = text.at(-1)?.key ?? last;
    if (page.length < 1_000) return last;
    after = page.at(-1)!.id;
  }
}

async function isSearchable({ assembly }: LocalPipeline, word: string): Promise<boolean> {
  const hits = await assembly.stores.targets[0]!.search!({ text: word, limit: 1 });
  return hits.some(({ element }) => element.text?.includes(word) === true);
}
