// `fairlead simulate`: serving rules on a workload, on a virtual clock. It replays the tree that Fairlead ships.
import { readFileSync, writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { CommandError } from '../exit.ts';
import { wholeNumber } from '../numbers.ts';
import { addOutput, type Form, print } from '../output.ts';
import {
  PICTURE_SLOTS_MAX,
  panels,
  parseWorkload,
  picture,
  printFigures,
  printReplayed,
  printTable,
  RULE_NAMES,
  type RuleName,
  readRecording,
  replayDecisions,
  resultsOf,
  type Simulation,
  simulateAll,
  simulateTable,
  WorkloadError,
} from '../simulate/index.ts';
import { systemReason } from '../system-failure.ts';

interface Options {
  readonly file?: string;
  readonly output?: Form;
  readonly svg?: string;
  readonly replay?: string;
  readonly slots?: number;
  readonly weight: Readonly<Record<string, number>>;
  readonly rule: readonly RuleName[];
}

const addRule = (name: RuleName, rules: readonly RuleName[]) => [...rules, name];

export function configure(command: Command): void {
  addOutput(command)
    .description(
      'Compare serving rules on a workload, on a virtual clock. Without a file: the two runs of the table in the documentation.',
    )
    .option('-f, --file <workload.yaml>', 'workload to replay, - for standard input')
    .option('--svg <file>', 'draw who held each slot over time, one row per slot')
    .addOption(ruleOption())
    .option(
      '--replay <log>',
      'replay a decision log of an operator (`--decision-log`) instead, and compare with how it was',
    )
    .option('--slots <n>', 'with --replay: slots; default: as it was', wholeNumber)
    .option('--weight <source=n>', 'with --replay: weight of a live source; can be given several times', addWeight, {})
    .action(run);
}

function addWeight(text: string, weights: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const [, source, weight] = /^(.+)=([1-9]\d{0,4})$/.exec(text) ?? [];
  if (source === undefined) throw new CommandError(`--weight takes SOURCE=NUMBER such as docs=2, not ${text}`, 'usage');
  return { ...weights, [source]: Number(weight) };
}

function ruleOption(): Option {
  const option = new Option('--rule <name>', `rule to replay: ${RULE_NAMES.join(', ')}; can be given several times`);
  return option.default([], 'those of the workload').argParser((name: string, rules: readonly RuleName[]) => {
    const known = RULE_NAMES.find((rule) => rule === name);
    if (known === undefined)
      throw new CommandError(`--rule: no rule is named ${name}; there are ${RULE_NAMES.join(', ')}`, 'usage');
    return addRule(known, rules);
  });
}

function read(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file}: cannot be read: ${systemReason(error) ?? (error as Error).message}`);
  }
}

const load = (file: string, rules: readonly RuleName[]) =>
  forPeople(() => parseWorkload(read(file), file === '-' ? 'standard input' : file, rules));

function forPeople<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof WorkloadError) throw new CommandError(error.message);
    throw error;
  }
}

function draw(file: string, simulations: readonly Simulation[]): void {
  const slots = simulations[0]!.workload.slots;
  if (slots > PICTURE_SLOTS_MAX)
    throw new CommandError(`--svg: ${slots} slots are more than a picture can show (${PICTURE_SLOTS_MAX})`);
  writeFileSync(file, picture(panels(simulations)));
  process.stderr.write(`wrote ${file}\n`);
}

/** How a recorded time would have gone: under the rules asked for, else fewest held first beside fifo. */
async function compare(log: string, { rule, slots, weight, output }: Options): Promise<void> {
  const recording = forPeople(() => readRecording(read(log), log));
  const rules: readonly RuleName[] = rule.length > 0 ? rule : ['fewest-held', 'fifo'];
  const sources = new Set(recording.updates.map((update) => update.in));
  for (const source of Object.keys(weight))
    if (!sources.has(source))
      throw new CommandError(
        `--weight: the log has no live source ${source}; it has ${[...sources].join(', ')}`,
        'usage',
      );
  const options = { slots: slots ?? recording.slots, weights: weight };
  const replayed = rules.map((one) => replayDecisions(recording, one, options));
  const { updates: _, ...recorded } = recording;
  await print(output, { recording: recorded, replayed }, () => printReplayed(recording, replayed));
}

async function run(options: Options): Promise<void> {
  const { file, output, svg, rule, replay } = options;
  if (replay !== undefined) return compare(replay, options);
  if (options.slots !== undefined || Object.keys(options.weight).length > 0)
    throw new CommandError(
      '--slots and --weight go with --replay; a workload file has slots and weights itself',
      'usage',
    );
  if (file === undefined) {
    const { first, second } = simulateTable(rule);
    await print(output, resultsOf(first, second), () => printTable(first, second));
    if (svg !== undefined) draw(svg, [...first, ...second]);
    return;
  }
  const simulations = simulateAll(load(file, rule), rule);
  await print(output, resultsOf(simulations), () => printFigures(simulations));
  if (svg !== undefined) draw(svg, simulations);
}
