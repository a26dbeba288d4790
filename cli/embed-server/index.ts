// `fairlead embed-server`: an embedding server with the OpenAI interface, offline.
import { once } from 'node:events';
import { type Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../../runner/clock.ts';
import { openStepHost } from '../../runner/steps/index.ts';
import { CommandError } from '../exit.ts';
import type { Faults, Hits } from './faults.ts';
import { startEmbedServer } from './server.ts';

export type { EmbedServerStats, Faults } from './faults.ts';
export { type EmbedServer, type EmbedServerOptions, startEmbedServer } from './server.ts';

const PORT_MAX = 65_535;

interface Options {
  readonly host: string;
  readonly port: number;
  readonly model: 'hash' | 'local';
  readonly dimensions: number;
  readonly rateLimitEvery?: number;
  readonly retryAfter?: string;
  readonly rate?: number;
  readonly failEvery?: number;
  readonly silentEvery?: number;
  readonly delayMs?: number;
  readonly maxBatch?: number;
  readonly maxLength?: number;
  readonly refuseWord?: string;
  readonly shortEvery?: number;
  readonly nanWord?: string;
  readonly wrongDimensions?: number;
  readonly base64: boolean;
}

export function configure(command: Command): void {
  command
    .description(
      'Serve /v1/embeddings and /v1/chat/completions as OpenAI does, over the embedders that ship with Fairlead: to try the openai embedder offline, and to see how a Pipeline takes a server that misbehaves. Prints its address. GET /stats shows what was asked; PUT /faults changes the faults while it runs.',
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port; 0 takes a free one', whole(0, PORT_MAX), 0)
    .addOption(command.createOption('--model <name>', 'embedder').choices(['hash', 'local']).default('hash'))
    .option('--dimensions <number>', 'width of the vectors of hash', whole(8), 384)
    .option('--rate-limit-every <n>', 'answer 429 to each nth request', whole(1))
    .option('--retry-after <value>', 'Retry-After of these answers: seconds, or an HTTP date')
    .option('--rate <n>', 'answer 429 to more than n requests within a second', whole(1))
    .option('--fail-every <n>', 'answer 500 to each nth request', whole(1))
    .option('--silent-every <n>', 'never answer each nth request', whole(1))
    .option('--delay-ms <n>', 'milliseconds before each answer', whole(0))
    .option('--max-batch <n>', 'answer 413 to requests with more texts', whole(1))
    .option('--max-length <n>', 'answer 400 (too long) to requests with a text of more characters', whole(1))
    .option('--refuse-word <word>', 'answer 400 to requests with a text that holds the word')
    .option('--short-every <n>', 'leave a vector out of each nth answer', whole(1))
    .option('--nan-word <word>', 'answer texts that hold the word with values that are no numbers')
    .option('--wrong-dimensions <n>', 'answer with vectors of this width', whole(1))
    .option('--no-base64', 'refuse requests that ask for base64')
    .action(serve);
}

async function serve(options: Options): Promise<void> {
  const secret = () => Promise.reject(new Error('no secret is needed'));
  const host = openStepHost({ clock: systemClock, secret, baseDir: process.cwd(), env: {} });
  const { model, dimensions } = options;
  const embedder = await host.openQueryEmbedder(model === 'hash' ? { hash: { dimensions } } : { local: {} });
  const server = await startEmbedServer({
    clock: systemClock,
    model,
    host: options.host,
    port: options.port,
    faults: faultsOf(options),
    embedAll: (texts, signal) => embedder.embedAll(texts, signal),
  }).catch((error: Error) => {
    throw new CommandError(
      `cannot listen on ${options.host}:${options.port}: ${error.message}; choose another --port or --host`,
    );
  });
  process.stdout.write(`${server.url}\n`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  await server.close();
  await embedder.close();
  await host.close();
}

function faultsOf(options: Options): Faults {
  const { retryAfter, rateLimitEvery } = options;
  const after = retryAfter === undefined ? {} : { retryAfter };
  return {
    ...(rateLimitEvery === undefined ? {} : { rateLimited: { every: rateLimitEvery, ...after } }),
    ...given('requestsPerSecond', options.rate),
    ...given('failed', each(options.failEvery)),
    ...given('silent', each(options.silentEvery)),
    ...given('delayMs', options.delayMs),
    ...given('tooManyAbove', options.maxBatch),
    ...given('tooLongAbove', options.maxLength),
    ...given('refusedWord', options.refuseWord),
    ...given('short', each(options.shortEvery)),
    ...given('nanWord', options.nanWord),
    ...given('dimensions', options.wrongDimensions),
    noBase64: !options.base64,
  };
}

const each = (every: number | undefined): Hits | undefined => (every === undefined ? undefined : { every });

const given = <K extends keyof Faults>(name: K, value: Faults[K] | undefined): Pick<Faults, K> | object =>
  value === undefined ? {} : { [name]: value };

const whole =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
    const upTo = max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`;
    throw new InvalidArgumentError(`an integer of at least ${min}${upTo} is needed`);
  };
