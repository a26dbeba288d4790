// `fairlead runner`: executes runs for an operator.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parseApiAddress } from '../../operator/api/index.ts';
import { logOf } from '../../operator/log.ts';
import { countCards } from '../../runner/gpus.ts';
import { RunnerFailed, type RunnerProgramOptions, secretsIn, startRunner } from '../../runner/main.ts';
import { Secrets } from '../../runner/secrets.ts';
import { CommandError } from '../exit.ts';
import { guardOutput } from '../guard.ts';
import { addLogLevel, type LogFlags, logTo } from '../log.ts';
import { wholeNumber } from '../numbers.ts';
import { operatorAddress } from '../operator-address.ts';
import { onStopSignals } from '../signals.ts';

interface Options extends LogFlags {
  readonly operator: readonly string[];
  readonly ca: string;
  readonly token: string;
  readonly pipeline: string;
  readonly class: string;
  readonly slots: number;
  readonly gpus?: number;
  readonly name?: string;
  readonly data: string;
  readonly base: string;
  readonly secrets: string;
  readonly pushAddress?: string;
  readonly grace: number;
}

export function configure(command: Command): void {
  addLogLevel(command)
    .description(
      'Execute runs of one Pipeline for an operator. SIGTERM lets what runs end within the grace and hands back the rest; a second one stops at once and loses nothing.',
    )
    .requiredOption(
      '--operator <url>',
      'address of the operator, https://HOST:PORT; can be given several times',
      operatorAddress,
    )
    .requiredOption('--ca <file>', "certificates that the operator's certificate may come from, PEM")
    .requiredOption('--token <file>', 'what proves who this runner is; read anew for each connection')
    .requiredOption('--pipeline <namespace/name>', 'Pipeline to work for')
    .option('--class <name>', 'class of runner', 'default')
    .option('--slots <n>', 'runs that are executed at once', wholeNumber, 64)
    .option(
      '--gpus <n>',
      'cards of this runner (default: FAIRLEAD_NUM_GPUS, else the entries of CUDA_VISIBLE_DEVICES, else what nvidia-smi lists, else none)',
      wholeNumber,
    )
    .option('--name <name>', 'name of this runner (default: host and process)')
    .option('--data <folder>', 'folder for clones, caches and embedded state', '.fairlead')
    .option('--base <folder>', 'folder in which relative paths of the specs start', '.')
    .option('--secrets <folder>', 'folder with a file for each key of each Secret', '/var/run/fairlead/secrets')
    .option('--push-address <host:port>', 'where push sources of the Pipeline listen (default: they take nothing here)')
    .option('--grace <seconds>', 'time in which runs may end after SIGTERM', wholeNumber, 25)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const name = options.name ?? `${hostname()}-${process.pid}`;
  const secrets = new Secrets(secretsIn(options.secrets));
  secrets.rememberVariables(process.env);
  guardOutput(process, secrets.hide);
  const log = logOf(logTo(process.stderr, options), { runner: name, pipeline: options.pipeline });
  const runner = startRunner({
    identity: {
      runner: name,
      pipeline: options.pipeline,
      runnerClass: options.class,
      slots: options.slots,
      gpus: options.gpus ?? (await countCards(process.env)),
    },
    addresses: options.operator,
    caFile: options.ca,
    tokenFile: options.token,
    dataDir: resolve(options.data),
    baseDir: resolve(options.base),
    secret: secrets.read,
    ...pushAddressOf(options),
    graceMs: options.grace * 1000,
    log: (text) => log.info(text),
  });
  onStopSignals({
    first: (signal) => {
      log.info(
        `${signal}: what runs may end within ${options.grace} s, the rest is handed back; a second signal stops at once`,
      );
      runner.leave(`the runner got ${signal}`);
    },
    second: (signal) => {
      log.info(`${signal} again: what was not done is handed back`);
      runner.stopNow(`the runner got ${signal} again`);
    },
  });
  try {
    await runner.done;
  } catch (error) {
    throw error instanceof RunnerFailed ? new CommandError(error.message) : error;
  }
}

function pushAddressOf({ pushAddress }: Options): Pick<RunnerProgramOptions, 'pushAddress'> {
  if (pushAddress === undefined) return {};
  const place = parseApiAddress(pushAddress);
  if (place === undefined || place === 'off')
    throw new CommandError(`--push-address: ${pushAddress} is not host:port`, 'usage');
  return { pushAddress: place };
}
