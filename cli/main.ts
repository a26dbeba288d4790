#!/usr/bin/env node
// `fairlead`: the command line. Each command is a file under `cli/commands`, loaded only when it is called, so that
// `fairlead --help` starts fast.
import { readFileSync } from 'node:fs';
import { Command } from 'commander';

const version = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version as string;

const program = new Command('fairlead')
  .description('Keeps the indexes AI agents read in step with their sources.')
  .version(version)
  .showHelpAfterError('Run with --help to see what is there.');

await program.parseAsync();
