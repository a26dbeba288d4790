// `fairlead status`: how fresh each source's index is, and what is wrong.
import type { Command } from 'commander';
import type { Overview } from '../../operator/api/index.ts';
import { print } from '../output.ts';
import { addRemote, chosen, type RemoteOptions, withOperator } from '../remote/session.ts';
import { statusText } from '../remote/status-text.ts';

export function configure(command: Command): void {
  command.description(
    'Show every source in a line: how stale its index is, its items, the slots that it holds and waits for, and what is wrong.',
  );
  addRemote(command).action(run);
}

async function run(options: RemoteOptions): Promise<void> {
  await withOperator(options, async (client) => {
    const overview = await client.get<Overview>('/api/v1/overview');
    const pipelines = chosen(overview.pipelines, options);
    await print(options.output, { atMs: overview.atMs, pipelines }, (isWide) =>
      statusText(pipelines, overview.atMs, isWide),
    );
  });
}
