// Options that the commands of the local mode share.
import type { Command } from 'commander';
import { collect } from '../collect.ts';
import type { Form } from '../output.ts';

export interface FileOptions {
  readonly file?: readonly string[];
  readonly output?: Form;
  readonly pipeline?: string;
}

export function addFiles(command: Command): Command {
  return command.option(
    '-f, --file <path>',
    'file, folder, or - for standard input; can be given several times (default: fairlead.yaml, else what was run last in this folder)',
    collect,
  );
}

export function addPipeline(command: Command): Command {
  return command.option('--pipeline <name>', 'Pipeline to use, where the files hold several');
}
