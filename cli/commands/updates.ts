// `fairlead updates`: what was done lately, and one update in full.
import type { Command } from 'commander';
import type { PipelineView } from '../../operator/api/index.ts';
import type { TraceTree } from '../../operator/telemetry/index.ts';
import { CommandError } from '../exit.ts';
import { wholeNumber } from '../numbers.ts';
import { print } from '../output.ts';
import { type ApiClient, pathOf } from '../remote/client.ts';
import { addRemote, pipelinesOf, type RemoteOptions, withOperator } from '../remote/session.ts';
import { age, columns, duration } from '../remote/text.ts';
import { traceText } from '../remote/trace-text.ts';

type Update = PipelineView['updates'][number];

interface Options extends RemoteOptions {
  readonly limit: number;
}

export function configure(command: Command): void {
  command
    .description('List the updates that run and the last ones that did something, or show one of them.')
    .argument('[name...]', 'the update to show; `show NAME` is the same')
    .option('--limit <n>', 'how many are listed', wholeNumber, 20);
  addRemote(command).action(run);
}

async function run(words: readonly string[], options: Options): Promise<void> {
  const name = nameIn(words);
  await withOperator(options, async (client) => {
    const pipelines = await pipelinesOf(client, options);
    if (name === undefined) await list(pipelines, options);
    else await show(client, pipelines, name, options);
  });
}

/** `updates`, `updates list`, `updates NAME`, `updates show NAME`. */
function nameIn(words: readonly string[]): string | undefined {
  const [first, second, ...more] = words;
  const name = first === 'show' ? second : first === 'list' ? undefined : first;
  const isTooMuch = more.length > 0 || (first !== 'show' && second !== undefined);
  if (isTooMuch || (first === 'show' && name === undefined))
    throw new CommandError('one update is shown at a time: fairlead updates show NAME', 'usage');
  return name;
}

async function list(pipelines: readonly PipelineView[], { output, limit }: Options): Promise<void> {
  const nowMs = Date.now();
  const updates = pipelines
    .flatMap((pipeline) => pipeline.updates.map((update) => ({ pipeline: pipeline.name, ...update })))
    .sort((a, b) => b.startedAtMs - a.startedAtMs)
    .slice(0, limit);
  await print(output, { updates }, (isWide) => {
    const headers = ['UPDATE', 'PIPELINE', 'SOURCE', 'KIND', 'TRIGGER', 'RESULT', 'AGE', 'TOOK', 'ITEMS'];
    const rows = updates.map((update) => [
      update.name,
      update.pipeline,
      update.source ?? '-',
      update.kind,
      update.trigger,
      update.result,
      age(update.startedAtMs, nowMs),
      duration((update.endedAtMs ?? nowMs) - update.startedAtMs),
      countsText(update),
      ...(isWide ? [update.traceId ?? '-', update.message ?? ''] : []),
    ]);
    return columns(isWide ? [...headers, 'TRACE', 'MESSAGE'] : headers, rows);
  });
}

async function show(client: ApiClient, pipelines: readonly PipelineView[], name: string, { output }: Options) {
  const pipeline = pipelines.find(({ updates }) => updates.some((update) => update.name === name));
  if (pipeline === undefined)
    throw new CommandError(`no Pipeline remembers an update ${name}: \`fairlead updates\` lists those that are`);
  const found = await client.get<{ update: Update; trace?: TraceTree }>(
    pathOf(pipeline.name, `/updates/${encodeURIComponent(name)}`),
  );
  const { update, trace } = found;
  const timeline = (isWide: boolean) => (trace === undefined ? '' : `\n${traceText(trace, Date.now(), isWide)}`);
  await print(output, found, (isWide) => `${updateText(pipeline.name, update)}${timeline(isWide)}`);
}

function updateText(pipeline: string, update: Update): string {
  const { startedAtMs, endedAtMs } = update;
  const lines = [
    ['Update', update.name],
    ['Pipeline', pipeline],
    ['Source', update.source ?? 'the Pipeline itself'],
    ['Kind', `${update.kind}, by ${update.trigger}`],
    ['Result', update.result],
    ['Started', new Date(startedAtMs).toISOString()],
    ['Took', duration((endedAtMs ?? Date.now()) - startedAtMs)],
    ...(update.waitedMs === undefined ? [] : [['Waited', duration(update.waitedMs)]]),
    ...(update.traceId === undefined ? [] : [['Trace', update.traceId]]),
    ...Object.entries(update.counts).map(([what, count]) => [`  ${what}`, String(count)]),
    ...(update.message === undefined ? [] : [['Message', update.message]]),
  ];
  return lines.map(([label, value]) => `${label!.padEnd(14)}${value}\n`).join('');
}

export function countsText({ counts }: Update): string {
  const parts = Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
  return parts.join(', ') || 'nothing to do';
}
