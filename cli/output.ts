// Forms of output: text for people, data for programs.
import type { Command } from 'commander';

const FORMS = ['json', 'yaml', 'wide'] as const;
export type Form = (typeof FORMS)[number];

export function addOutput(command: Command): Command {
  return command.addOption(
    command.createOption('-o, --output <form>', 'json or yaml for programs, wide for more of the text').choices(FORMS),
  );
}

/** Prints data in the form that was asked for, or as text for people. */
export async function print(form: Form | undefined, data: object, text: (isWide: boolean) => string): Promise<void> {
  if (form === 'json') process.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
  else if (form === 'yaml') process.stdout.write((await import('yaml')).stringify(data));
  else process.stdout.write(text(form === 'wide'));
}
