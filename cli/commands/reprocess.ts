// `fairlead reprocess`: processes every known item again, whatever the memos say.
import type { Command } from 'commander';
import { workOn } from '../local/hand-over.ts';
import { loadPipelines } from '../local/objects.ts';
import { addFiles, addOutput, type FileOptions } from '../local/options.ts';
import { exitOf, reporterFor, setExit, surroundings } from '../local/session.ts';

export function configure(command: Command): void {
  command.description(
    'Process every known item again: memos are not used, and all rows are written anew. Rows stay searchable until theirs are replaced. Where fairlead dev --watch is at work on the same state, that process does it.',
  );
  addOutput(addFiles(command)).action(run);
}

async function run(options: FileOptions): Promise<void> {
  const objects = await loadPipelines(options.file, surroundings());
  const results = await workOn(objects, () => ({ do: 'reprocess' }), reporterFor(options.output));
  setExit(exitOf(results.flatMap(({ ended }) => ended)));
}
