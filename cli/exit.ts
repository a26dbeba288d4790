// Exit codes of `fairlead`, and the error that carries one.

/** What each exit code says; the reference page prints this table. */
export const EXIT = {
  ok: { code: 0, meaning: 'done, nothing to report' },
  failed: { code: 1, meaning: 'it failed, or `verify` found a difference; the reason is on standard error' },
  changes: { code: 2, meaning: '`plan` found something to change' },
  completedWithErrors: {
    code: 3,
    meaning: 'an update ended CompletedWithErrors: some items failed, the others are done',
  },
  usage: { code: 64, meaning: 'the command line was not understood' },
  cancelled: { code: 130, meaning: 'stopped by Ctrl-C or SIGTERM before the work was done' },
} as const;

export type ExitName = keyof typeof EXIT;

/** Ends the command with a message for people and no stack trace. */
export class CommandError extends Error {
  readonly exit: ExitName;

  constructor(message: string, exit: ExitName = 'failed') {
    super(message);
    this.name = 'CommandError';
    this.exit = exit;
  }
}

/** The exit code with which the process will end. */
export function setExit(name: ExitName): void {
  process.exitCode = EXIT[name].code;
}
