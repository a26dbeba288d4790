// `fairlead query`: hybrid search in what was indexed.
import { type Command, InvalidArgumentError } from 'commander';
import { CommandError } from '../exit.ts';
import { answersText } from '../local/answers.ts';
import { choosePipeline, loadPipelines } from '../local/objects.ts';
import { addFiles, addPipeline, type FileOptions } from '../local/options.ts';
import { search } from '../local/search.ts';
import { surroundings } from '../local/session.ts';
import { addOutput, print } from '../output.ts';

const LIMIT_MAX = 1_000;

interface Options extends FileOptions {
  readonly limit: number;
  readonly target?: string;
}

export function configure(command: Command): void {
  command
    .description(
      'Search what was indexed, by meaning (vectors) and by words (full text) together. Prints path, lines, score and passage. It only reads, so it works while fairlead dev runs.',
    )
    .argument('<text>', 'what to look for');
  addPipeline(addOutput(addFiles(command)))
    .option('-k, --limit <count>', 'how many answers', parseLimit, 10)
    .option('--target <name>', 'target to search (default: the first that can)')
    .action(run);
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw new InvalidArgumentError(`must be a whole number from 1 to ${LIMIT_MAX}.`);
  return limit;
}

async function run(text: string, { file, output, pipeline, limit, target }: Options): Promise<void> {
  if (text.trim() === '') throw new CommandError('say what to look for: the text is empty', 'usage');
  const objects = choosePipeline(await loadPipelines(file, surroundings()), pipeline);
  const results = await search(objects, { text, limit, ...(target !== undefined && { target }) });
  if (results.length === 0) process.stderr.write('nothing found\n');
  await print(output, { query: text, results }, (isWide) => answersText(results, isWide));
}
