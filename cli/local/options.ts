// Options that the commands of the local mode share.
import type { Command } from 'commander';
import { collect } from '../collect.ts';

export interface FileOptions {
  readonly file?: readonly string[];
  readonly output?: 'json';
  readonly pipeline?: string;
}

export function addFiles(command: Command): Command {
  return command.option(
    '-f, --file <path>',
    'file, folder, or - for standard input; can be given several times (default: fairlead.yaml, else what was run last in this folder)',
    collect,
  );
}

export function addOutput(command: Command): Command {
  return command.addOption(command.createOption('-o, --output <form>', 'form of the output').choices(['json']));
}

export function addPipeline(command: Command): Command {
  return command.option('--pipeline <name>', 'Pipeline to use, where the files hold several');
}
