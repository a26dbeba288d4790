// Puts the command line together. Only the command that was called is loaded.
import { Command } from 'commander';
import { COMMANDS, type CommandEntry } from './commands/index.ts';
import { EXIT } from './exit.ts';
import { programVersion } from './version.ts';

/** The program with its list of commands; `wanted` says which of them are loaded with their options. */
export async function createProgram(wanted: (entry: CommandEntry) => boolean): Promise<Command> {
  const program = new Command('fairlead')
    .description('Keeps the indexes AI agents read in step with their sources.')
    .version(programVersion())
    .showHelpAfterError('Run with --help to see what is there.');
  program.exitOverride((error) => {
    process.exit(error.exitCode === 0 ? 0 : EXIT.usage.code);
  });
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).summary(entry.summary).description(`${entry.summary}.`);
    command.copyInheritedSettings(program);
    if (wanted(entry)) (await entry.load()).configure(command, () => createProgram(() => true));
  }
  return program;
}
