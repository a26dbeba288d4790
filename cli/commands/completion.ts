// `fairlead completion`: scripts for shells, written from the commands themselves.
import type { Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function configure(command: Command, whole: () => Promise<Command>): void {
  command
    .description(
      'Print a completion script. bash: source <(fairlead completion bash); zsh: the same with zsh; fish: fairlead completion fish | source.',
    )
    .addArgument(command.createArgument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: Shell) => {
      const program = await whole();
      process.stdout.write(SCRIPTS[shell](program.commands.map(wordsOf)));
    });
}

/** What can follow the name of a command. */
interface Words {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** Of its first argument, where only certain ones are known. */
  readonly values: readonly string[];
}

interface Flag {
  /** As they are written: `-o`, `--output`. */
  readonly names: readonly string[];
  /** Empty: anything. */
  readonly values: readonly string[];
}

function wordsOf(command: Command): Words {
  const flags = command.options.map(({ short, long, argChoices: values = [] }) => ({
    names: [short, long].filter((name) => name !== undefined),
    values,
  }));
  const [first] = command.registeredArguments;
  return {
    name: command.name(),
    summary: command.summary(),
    flags: [...flags, { names: ['--help'], values: [] }],
    values: first?.argChoices ?? [],
  };
}

const NAMES = 'fairlead kubectl-fairlead';

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Words[]) => string>> = {
  bash: (commands) => `${bashFunction(commands)}complete -o default -F _fairlead ${NAMES}\n`,
  zsh: (commands) =>
    `autoload -U +X bashcompinit && bashcompinit\n${bashFunction(commands)}complete -o default -F _fairlead ${NAMES}\n`,
  fish: (commands) =>
    commands
      .flatMap((command) => [
        `complete -c fairlead -n __fish_use_subcommand -a ${command.name} -d '${command.summary.replaceAll("'", '')}'`,
        ...fishValues(command),
        ...command.flags.map((flag) => fishFlag(command, flag)),
      ])
      .map((line) => `${line}\n`)
      .join(''),
};

const fishValues = ({ name, values }: Words): string[] =>
  values.length === 0 ? [] : [`complete -c fairlead -n '__fish_seen_subcommand_from ${name}' -a '${values.join(' ')}'`];

function fishFlag({ name }: Words, { names, values }: Flag): string {
  const written = names.map((one) => (one.startsWith('--') ? `-l ${one.slice(2)}` : `-s ${one.slice(1)}`));
  const known = values.length === 0 ? '' : ` -x -a '${values.join(' ')}'`;
  return `complete -c fairlead -n '__fish_seen_subcommand_from ${name}' ${written.join(' ')}${known}`;
}

/** The first word is a command, later ones its flags and their values; files come from the shell's own completion. */
function bashFunction(commands: readonly Words[]): string {
  return `_fairlead() {
  local words current="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" in
${commands.flatMap(bashValues).join('\n')}
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${commands.map(bashFlags).join('\n')}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
  esac
}
`;
}

const bashFlags = ({ name, flags }: Words): string =>
  `    ${name}) words="${flags.flatMap(({ names }) => names).join(' ')}" ;;`;

/** What may follow a flag, or the command itself. */
function bashValues({ name, flags, values }: Words): string[] {
  const all = [{ names: [name], values }, ...flags].filter((one) => one.values.length > 0);
  return all.map(({ names, values: known }) => {
    const after = names.map((one) => `"${name} ${one}"`).join(' | ');
    return `    ${after}) words="${known.join(' ')}" ;;`;
  });
}
