// `fairlead reprocess`: processes every known item again, whatever the memos say.
import type { Command } from 'commander';
import { loadPipelines } from '../local/objects.ts';
import { addFiles, addOutput, type FileOptions } from '../local/options.ts';
import { exitOf, reporterFor, Session, setExit, surroundings } from '../local/session.ts';

export function configure(command: Command): void {
  command.description(
    'Process every known item again: memos are not used, and all rows are written anew. Rows stay searchable until theirs are replaced.',
  );
  addOutput(addFiles(command)).action(run);
}

async function run(options: FileOptions): Promise<void> {
  const objects = await loadPipelines(options.file, surroundings());
  const session = new Session(reporterFor(options.output));
  await session.run(objects, async (pipelines) => {
    const ended = await Promise.all(
      pipelines.map((pipeline) => pipeline.update({ kind: 'pipeline', trigger: 'reprocess', reprocess: true })),
    );
    setExit(exitOf(ended));
  });
}
