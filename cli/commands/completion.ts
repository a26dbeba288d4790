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

interface Words {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly string[];
}

function wordsOf(command: Command): Words {
  const flags = command.options.flatMap(({ short, long }) => [short, long]).filter((flag) => flag !== undefined);
  return { name: command.name(), summary: command.summary(), flags: [...flags, '--help'] };
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Words[]) => string>> = {
  bash: (commands) => `${bashFunction(commands)}complete -o default -F _fairlead fairlead kubectl-fairlead\n`,
  zsh: (commands) =>
    `autoload -U +X bashcompinit && bashcompinit\n${bashFunction(commands)}complete -o default -F _fairlead fairlead kubectl-fairlead\n`,
  fish: (commands) =>
    commands
      .flatMap(({ name, summary, flags }) => [
        `complete -c fairlead -n __fish_use_subcommand -a ${name} -d '${summary.replaceAll("'", '')}'`,
        ...flags
          .filter((flag) => flag.startsWith('--'))
          .map((flag) => `complete -c fairlead -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
      ])
      .map((line) => `${line}\n`)
      .join(''),
};

/** The first word is a command, later ones its flags; files come from the shell's own completion. */
function bashFunction(commands: readonly Words[]): string {
  const cases = commands.map(({ name, flags }) => `    ${name}) words="${flags.join(' ')}" ;;`).join('\n');
  return `_fairlead() {
  local words current="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
  esac
}
`;
}
