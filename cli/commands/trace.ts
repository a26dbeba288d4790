// `fairlead trace`: an update's own span tree, without any tracing back-end.
import type { Command } from 'commander';
import type { TraceTree } from '../../operator/telemetry/index.ts';
import { CommandError } from '../exit.ts';
import { pathOf } from '../remote/client.ts';
import { addRemote, pipelinesOf, print, type RemoteOptions, withOperator } from '../remote/session.ts';
import { traceText } from '../remote/trace-text.ts';

export function configure(command: Command): void {
  command
    .description(
      'Print the spans of an update as the operator keeps them: its waits, runs, steps, calls and commits. Nothing has to collect traces for that.',
    )
    .argument('<update>', 'name of an update, or the id of its trace');
  addRemote(command).action(run);
}

async function run(update: string, options: RemoteOptions): Promise<void> {
  await withOperator(options, async (client) => {
    for (const { name } of await pipelinesOf(client, options)) {
      const found = await client.find<{ trace?: TraceTree }>(pathOf(name, `/updates/${encodeURIComponent(update)}`));
      const trace = found?.trace;
      if (trace !== undefined) return print(options.output, trace, () => traceText(trace, Date.now()));
    }
    throw new CommandError(
      `no spans of ${update} are kept: the last updates' are, those that changed nothing are not. \`fairlead updates\` lists what there is`,
    );
  });
}
