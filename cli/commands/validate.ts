// `fairlead validate`: checks files without touching anything. What it passes, the API server takes.
import type { Command } from 'commander';
import { collect } from '../collect.ts';
import { CommandError } from '../exit.ts';
import { type Loaded, type Loading, loadObjects, placeText, problemText } from '../objects/index.ts';
import { addOutput, type Form, print } from '../output.ts';
import { standardInput } from '../standard-input.ts';

interface Options {
  readonly file: readonly string[];
  readonly output?: Form;
}

export function configure(command: Command): void {
  command
    .description(
      'Check Pipelines and LiveSources in files: fields, values, rules between fields, and names that refer to each other. Prints every problem with its file, line, object and field. Nothing is contacted.',
    )
    .requiredOption('-f, --file <path>', 'file, folder, or - for standard input; can be given several times', collect);
  addOutput(command).action(validate);
}

async function validate({ file, output }: Options): Promise<void> {
  const loading = await loadObjects(file, { cwd: process.cwd(), stdin: standardInput });
  await print(output, report(loading), () => lines(loading));
  const { length } = loading.problems;
  if (length > 0) throw new CommandError(`${length} ${length === 1 ? 'problem' : 'problems'}`);
  if (found(loading).length === 0) throw new CommandError('there is no Pipeline and no LiveSource in the files');
}

const found = ({ objects }: Loading): { kind: string; object: Loaded<unknown> }[] => [
  ...objects.pipelines.map((object) => ({ kind: 'Pipeline', object })),
  ...objects.sources.map((object) => ({ kind: 'LiveSource', object })),
];

/** For programs: stable names, places from 1. */
function report(loading: Loading): object {
  return {
    valid: loading.problems.length === 0,
    objects: found(loading).map(({ kind, object: { namespace, name, origin } }) => ({
      kind,
      namespace,
      name,
      file: origin.file,
      line: origin.line,
    })),
    problems: loading.problems,
    skipped: loading.skipped.map(({ called, origin }) => ({ object: called, file: origin.file, line: origin.line })),
  };
}

function lines(loading: Loading): string {
  const problems = loading.problems.map(problemText);
  const wellFormed = problems.length > 0 ? [] : found(loading).map(({ kind, object }) => okText(kind, object));
  const skipped = loading.skipped.map(
    ({ called, origin }) => `${placeText(origin)}: ${called} is not of fairlead.dev: not checked`,
  );
  return [...problems, ...wellFormed, ...skipped].map((line) => `${line}\n`).join('');
}

const okText = (kind: string, { namespace, name, origin }: Loaded<unknown>): string =>
  `${placeText(origin)}: ${kind} ${namespace}/${name} is valid`;
