#!/usr/bin/env node
// `fairlead`: the command line. Data goes to standard output, everything else to standard error.
import { CommandError, EXIT } from './exit.ts';
import { createProgram } from './program.ts';
import { endUnlessHeard } from './signals.ts';

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
  if (!(error instanceof CommandError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = EXIT[error.exit].code;
}
