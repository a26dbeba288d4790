// `fairlead dev`: runs Pipelines and their live sources in this process, on embedded parts, without a cluster.
import type { Command } from 'commander';
import type { Telemetry } from '../../operator/telemetry/index.ts';
import { setExit } from '../exit.ts';
import { refuseAtWork, serveControl } from '../local/control.ts';
import { loadPipelines, rememberRun } from '../local/objects.ts';
import { addFiles, type FileOptions } from '../local/options.ts';
import type { LocalPipeline } from '../local/pipeline.ts';
import { DEFAULT_PUSH_ADDRESS, servePush } from '../local/push.ts';
import { exitOf, reporterFor, Session, surroundings } from '../local/session.ts';
import { addOutput } from '../output.ts';
import { API_DEFAULT, API_FLAG, API_MEANING } from '../remote/api-flag.ts';

interface Options extends FileOptions {
  readonly once?: boolean;
  readonly watch?: boolean;
  readonly allowDeletes?: boolean;
  readonly pushAddress: string;
  readonly api?: string;
}

export function configure(command: Command): void {
  command.description(
    'Run Pipelines and their live sources on this machine: the same YAML as in a cluster, in one process, without any service. State and rows are kept in .fairlead beside the YAML file.',
  );
  addOutput(addFiles(command))
    .addOption(
      command.createOption('--once', 'bring every live source up to date once, and end (default)').conflicts('watch'),
    )
    .option(
      '--watch',
      'stay, and keep them so: changes are seen as they happen where the source can be watched, else at its times',
    )
    .option('--push-address <host:port>', 'with --watch: where push sources listen', DEFAULT_PUSH_ADDRESS)
    .option(API_FLAG, `with --watch: ${API_MEANING}`)
    .option('--allow-deletes', 'consent to more deletes than deleteGuard allows, in the first cycle')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const around = surroundings();
  const objects = await loadPipelines(options.file, around);
  for (const one of objects) await refuseAtWork(one, process.env);
  rememberRun(options.file, around);
  const session = new Session(reporterFor(options.output));
  for (const { label, sources } of objects)
    if (sources.length === 0) session.reporter.note(`Pipeline ${label}: no live source feeds it`);
  if (options.watch === true)
    return session.run(objects, (pipelines, telemetry) => stay(session, pipelines, options, telemetry), {
      stays: true,
    });
  await session.run(objects, async (pipelines) => {
    const wish = { trigger: 'once', ...(options.allowDeletes === true && { allowDeletes: true }) };
    const ended = await Promise.all(pipelines.map((pipeline) => pipeline.cycles(wish)));
    setExit(exitOf(ended.flat()));
  });
}

/** Watches until the user stops it. */
async function stay(
  session: Session,
  pipelines: readonly LocalPipeline[],
  options: Options,
  telemetry: Telemetry | undefined,
): Promise<void> {
  const push = await servePush(pipelines, options.pushAddress);
  for (const path of push?.paths ?? []) session.reporter.note(`items are pushed to ${push?.url}${path}`);
  const { servePipelines } = await import('../local/api.ts');
  const api = await servePipelines(pipelines, options.api ?? API_DEFAULT, telemetry);
  if (api !== undefined) session.reporter.note(`dashboard on ${api.url}; fairlead status, top and why ask it`);
  const closers: (() => Promise<void>)[] = [];
  try {
    for (const pipeline of pipelines) closers.push(await serveControl(pipeline, process.env));
    for (const pipeline of pipelines) pipeline.watch(options.allowDeletes === true);
    await session.stopped;
  } finally {
    await push?.close();
    await api?.close();
    for (const pipeline of pipelines) await pipeline.drain();
    for (const close of closers) await close();
  }
}
