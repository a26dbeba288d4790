// The log of a process that serves: JSON lines, or words where a person looks on.
import { type Command, Option } from 'commander';
import { LOG_LEVELS, type Log, type LogLevel, openLog } from '../operator/log.ts';

export interface LogFlags {
  readonly logLevel: LogLevel;
}

export function addLogLevel(command: Command): Command {
  const option = new Option('--log-level <level>', 'how much is said').choices(LOG_LEVELS);
  return command.addOption(option.env('FAIRLEAD_LOG_LEVEL').default('info'));
}

export function logTo(stream: NodeJS.WriteStream, { logLevel }: LogFlags): Log {
  return openLog({
    level: logLevel,
    form: stream.isTTY === true ? 'words' : 'json',
    write: (line) => void stream.write(line),
    now: Date.now,
  });
}
