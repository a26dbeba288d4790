#!/usr/bin/env node
// `fairlead`: the command line. Data goes to standard output, everything else to standard error.
import { CommandError, EXIT } from './exit.ts';
import { createProgram } from './program.ts';
import { endUnlessHeard } from './signals.ts';
import { systemFailure } from './system-failure.ts';

endUnlessHeard(process);

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const called = process.argv.slice(2);
const program = await createProgram((entry) => called.includes(entry.name));
try {
  await program.parseAsync();
} catch (error) {
  const forPeople = error instanceof CommandError ? error.message : systemFailure(error);
  // The stack and nothing beside it: properties of errors may hold what they were about, such as an address with its password.
  process.stderr.write(`${forPeople ?? (error instanceof Error ? error.stack : String(error))}\n`);
  process.exitCode = EXIT[error instanceof CommandError ? error.exit : 'failed'].code;
}
