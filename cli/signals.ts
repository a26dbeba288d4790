// Being told to end: before a command listens, and while it ends.
const NUMBERS = { SIGTERM: 15, SIGINT: 2 } as const;

type Listening = Pick<NodeJS.Process, 'once' | 'listenerCount'> & { exit(code: number): unknown };

/**
 * The first process of a container gets no signal that it did not ask for, so one that is told to end while it starts would be waited for
 * until it is killed. Until a command listens itself, being told to end ends the process, with the code that shells use.
 */
export function endUnlessHeard(listening: Listening): void {
  for (const [signal, number] of Object.entries(NUMBERS))
    listening.once(signal as NodeJS.Signals, () => {
      if (listening.listenerCount(signal) === 0) listening.exit(128 + number);
    });
}

export interface StopSignals {
  readonly first: (signal: NodeJS.Signals) => void;
  /** The process ends when this returns, with the code of the signal. */
  readonly second?: (signal: NodeJS.Signals) => void;
}

/** Asked once, a process ends in order; asked again, it ends now. */
export function onStopSignals({ first, second }: StopSignals): void {
  let isAsked = false;
  for (const [name, number] of Object.entries(NUMBERS)) {
    const signal = name as keyof typeof NUMBERS;
    process.on(signal, () => {
      if (isAsked) {
        second?.(signal);
        process.exit(128 + number);
      }
      isAsked = true;
      first(signal);
    });
  }
}
