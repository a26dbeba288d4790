// Logs: one event, one line; JSON for machines, words on a terminal.
//   L1. Never a secret or an item's content. What a message names of an item is its key, as status and traces do.
//   L2. Fields name the object: pipeline, source, update, runner; and `traceId` where the event belongs to an update.
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

export interface LogOptions {
  /** Events of this level and graver ones are written. */
  readonly level: LogLevel;
  readonly form: 'json' | 'words';
  /** Takes a whole line. */
  readonly write: (line: string) => void;
  /** Milliseconds of the epoch. */
  readonly now: () => number;
}

export function openLog({ level, form, write, now }: LogOptions): Log {
  const lineOf = form === 'json' ? jsonLine : wordsLine;
  const say = (of: LogLevel) => {
    if (LOG_LEVELS.indexOf(of) > LOG_LEVELS.indexOf(level)) return () => {};
    return (message: string, fields: LogFields = {}) => write(lineOf(new Date(now()), of, message, flat(fields)));
  };
  return { error: say('error'), warn: say('warn'), info: say('info'), debug: say('debug') };
}

/** The same log, with these fields in every line. */
export function logOf(log: Log, common: LogFields): Log {
  const say =
    (of: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      log[of](message, { ...common, ...fields });
  return { error: say('error'), warn: say('warn'), info: say('info'), debug: say('debug') };
}

function jsonLine(time: Date, level: LogLevel, message: string, fields: LogFields): string {
  return `${JSON.stringify({ time: time.toISOString(), level, message, ...fields })}\n`;
}

/** `22:41:03 warn  a runner is silent  runner=cpu-0`; what has spaces or line breaks stands in quotes. */
function wordsLine(time: Date, level: LogLevel, message: string, fields: LogFields): string {
  const words = Object.entries(fields).map(([name, value]) => `${name}=${wordOf(value)}`);
  const head = `${time.toISOString().slice(11, 19)} ${level.padEnd(5)} ${message.replaceAll(/\s*\n\s*/g, ' ')}`;
  return `${[head, ...words].join('  ')}\n`;
}

function wordOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"]/.test(text) && typeof value === 'string' ? JSON.stringify(text) : text;
}

/** Errors do not survive JSON: what they say does. What is absent is left out. */
function flat(fields: LogFields): LogFields {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, value instanceof Error ? value.message : value]));
}

export const SILENT: Log = { error() {}, warn() {}, info() {}, debug() {} };
