// `fairlead trace`: an update's own span tree, without any tracing back-end.
import type { Command } from 'commander';
import type { PipelineView } from '../../operator/api/index.ts';
import type { TraceTree } from '../../operator/telemetry/index.ts';
import { CommandError } from '../exit.ts';
import { print } from '../output.ts';
import { pathOf } from '../remote/client.ts';
import { addRemote, pipelinesOf, type RemoteOptions, withOperator } from '../remote/session.ts';
import { traceText } from '../remote/trace-text.ts';

export function configure(command: Command): void {
  command
    .description(
      'Print the spans of an update as the operator keeps them: its waits, runs, steps, calls and commits. Nothing has to collect traces for that.',
    )
    .argument('[update]', 'name of an update, or the id of its trace (default: the newest that did something)');
  addRemote(command).action(run);
}

async function run(named: string | undefined, options: RemoteOptions): Promise<void> {
  await withOperator(options, async (client) => {
    const pipelines = await pipelinesOf(client, options);
    const update = named ?? newest(pipelines);
    for (const { name } of pipelines) {
      const found = await client.find<{ trace?: TraceTree }>(pathOf(name, `/updates/${encodeURIComponent(update)}`));
      const trace = found?.trace;
      if (trace !== undefined) return print(options.output, trace, (isWide) => traceText(trace, Date.now(), isWide));
    }
    throw new CommandError(
      `no spans of ${update} are kept: the last updates' are, those that changed nothing are not. \`fairlead updates\` lists what there is`,
    );
  });
}

function newest(pipelines: readonly PipelineView[]): string {
  const [last] = pipelines.flatMap(({ updates }) => updates).sort((a, b) => b.startedAtMs - a.startedAtMs);
  if (last === undefined) throw new CommandError('no update has done anything yet: `fairlead refresh` makes one');
  return last.name;
}
