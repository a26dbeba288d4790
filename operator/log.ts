// Logs: one JSON object a line, for machines; never a secret, an item's content or an item's key below `debug`.
export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

const LEVELS: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

/** A log that writes lines of `level` and above. */
export function jsonLog(level: LogLevel, write: (line: string) => void, now: () => number): Log {
  const isWritten = (of: LogLevel) => LEVELS.indexOf(of) <= LEVELS.indexOf(level);
  const say =
    (of: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (!isWritten(of)) return;
      const time = new Date(now()).toISOString();
      write(`${JSON.stringify({ time, level: of, message, ...flat(fields) })}\n`);
    };
  return { error: say('error'), warn: say('warn'), info: say('info'), debug: say('debug') };
}

/** Errors do not survive JSON: what they say does. */
function flat(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value]),
  );
}

export const SILENT: Log = { error() {}, warn() {}, info() {}, debug() {} };
