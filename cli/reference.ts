// The reference page of the command line, written from the commands themselves.
import { COMMANDS } from './commands/index.ts';
import { EXIT } from './exit.ts';
import { createProgram } from './program.ts';

const HELP_WIDTH = 100;

/** Markdown of `docs/reference/cli.md`. */
export async function cliReference(): Promise<string> {
  const program = await createProgram(() => true);
  const sections = program.commands
    .filter((command) => COMMANDS.some((entry) => entry.name === command.name()))
    .map((command) => {
      command.configureHelp({ helpWidth: HELP_WIDTH });
      return `## fairlead ${command.name()}\n\n\`\`\`text\n${command.helpInformation().trimEnd()}\n\`\`\`\n`;
    });
  const codes = Object.values(EXIT).map(({ code, meaning }) => `| ${code} | ${meaning} |`);
  return [
    '# The command line\n',
    'Written by `make generate` from the commands themselves; `fairlead COMMAND --help` prints the same.\n',
    'Data goes to standard output, progress and messages to standard error.\n',
    '| exit code | says |\n| --- | --- |',
    `${codes.join('\n')}\n`,
    sections.join('\n'),
  ].join('\n');
}
