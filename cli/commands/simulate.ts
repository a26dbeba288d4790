// `fairlead simulate`: serving rules on a workload, on a virtual clock. It replays the tree that Fairlead ships.
import { readFileSync, writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { CommandError } from '../exit.ts';
import {
  PICTURE_SLOTS_MAX,
  panels,
  parseWorkload,
  picture,
  printFigures,
  printJson,
  printTable,
  RULE_NAMES,
  type RuleName,
  type Simulation,
  simulateAll,
  simulateTable,
  WorkloadError,
} from '../simulate/index.ts';

interface Options {
  readonly file?: string;
  readonly output?: 'json';
  readonly svg?: string;
  readonly rule: readonly RuleName[];
}

const addRule = (name: RuleName, rules: readonly RuleName[]) => [...rules, name];

export function configure(command: Command): void {
  command
    .description(
      'Compare serving rules on a workload, on a virtual clock. Without a file: the two runs of the table in the documentation.',
    )
    .option('-f, --file <workload.yaml>', 'workload to replay, - for standard input')
    .addOption(new Option('-o, --output <form>', 'form of the output').choices(['json']))
    .option('--svg <file>', 'draw who held each slot over time, one row per slot')
    .addOption(ruleOption())
    .action(run);
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
    throw new CommandError(`${file}: cannot be read: ${(error as Error).message}`);
  }
}

function load(file: string, rules: readonly RuleName[]) {
  try {
    return parseWorkload(read(file), file === '-' ? 'standard input' : file, rules);
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

function run({ file, output, svg, rule }: Options): void {
  const isJson = output === 'json';
  if (file === undefined) {
    const { first, second } = simulateTable(rule);
    process.stdout.write(isJson ? printJson(first, second) : printTable(first, second));
    if (svg !== undefined) draw(svg, [...first, ...second]);
    return;
  }
  const simulations = simulateAll(load(file, rule), rule);
  process.stdout.write(isJson ? printJson(simulations) : printFigures(simulations));
  if (svg !== undefined) draw(svg, simulations);
}
