// `fairlead why`: what an update, an item or a run waits for.
import type { Command } from 'commander';
import type { PipelineView, Why } from '../../operator/api/index.ts';
import { CommandError } from '../exit.ts';
import { print } from '../output.ts';
import { type ApiClient, pathOf } from '../remote/client.ts';
import { addRemote, pipelinesOf, type RemoteOptions, withOperator } from '../remote/session.ts';
import { duration } from '../remote/text.ts';

export function configure(command: Command): void {
  command
    .description(
      'Tell what an update, an item or a run waits for: who is served before it and why, how many grants pass before it at the least, about how long that takes, and what would change it.',
    )
    .argument('<subject>', 'name of an update, key or path of an item, or number of a run');
  addRemote(command).action(run);
}

async function run(subject: string, options: RemoteOptions): Promise<void> {
  await withOperator(options, async (client) => {
    const pipelines = await pipelinesOf(client, options);
    const whys = (await Promise.all(pipelines.map((pipeline) => ask(client, pipeline, subject)))).filter(
      ({ kind }) => kind !== 'unknown',
    );
    if (whys.length === 0)
      throw new CommandError(
        `nothing that is live or remembered is called ${subject}: it does not wait. \`fairlead updates\` lists updates; items are named by their key, or by source and key`,
      );
    await print(options.output, { whys }, () => whys.map(whyText).join('\n'));
  });
}

const ask = (client: ApiClient, { name }: PipelineView, subject: string): Promise<Why> =>
  client.get<Why>(pathOf(name, `/why?subject=${encodeURIComponent(subject)}`));

export function whyText({ pipeline, subject, kind, update, runs, says }: Why): string {
  const of = kind === 'update' ? '' : `, update ${update?.name}`;
  const head =
    update === undefined
      ? `${kind} ${subject} of ${pipeline}`
      : `${kind} ${subject} of ${pipeline}${of} (${update.kind}, by ${update.trigger}): ${update.result}`;
  const lines = runs.flatMap((one) => [
    `  run ${one.run.number} ${one.run.path} (${one.run.kind}), asked ${duration(one.sinceMs)} ago`,
    ...one.says.map((sentence) => `    ${sentence}`),
  ]);
  return `${[head, ...says.map((sentence) => `  ${sentence}`), ...lines].join('\n')}\n`;
}
