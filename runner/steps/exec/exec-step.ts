// The step `exec`: a program in any language that stays up and speaks one JSON object a line.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { type BatchSpec, durationMs, type ExecSpec, quantityBytes } from '../../../crds/schema/index.ts';
import type { Clock } from '../../clock.ts';
import { callFor, type Step, type StepContext } from '../../execute/index.ts';
import { PROGRAM_CALL } from '../../protocol/index.ts';
import {
  type BatchCall,
  type BatchedCalls,
  batchedCalls,
  type Element,
  RetryWithSmallerBatch,
  StepError,
} from '../../sdk/index.ts';
import type { Hide, Secrets } from '../../secrets.ts';
import { estimateTokens } from '../endpoint/tokens.ts';
import { Fleet } from './fleet.ts';
import type { ProgramSettings } from './program.ts';
import { type ExecCall, type ExecResult, requestLine, resultsOf } from './protocol.ts';

/** Raise it when the lines change, so that programs see every item again. */
const VERSION = 'exec/1';

export interface ExecDeps {
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** Where relative paths begin. */
  readonly baseDir: string;
  /** Environment of the runner. */
  readonly env: { readonly [name: string]: string | undefined };
}

export interface ExecSettings {
  readonly spec: ExecSpec;
  readonly batch: BatchSpec | undefined;
  /** Its requests hold a card, and a card has a process of its own. */
  readonly gpu: boolean;
  /** Limit of one request. */
  readonly timeoutMs: number;
}

export async function openExec(settings: ExecSettings, deps: ExecDeps): Promise<Step> {
  const { spec, batch } = settings;
  const workingDir = resolve(deps.baseDir, spec.workingDir ?? '.');
  const fleet = new Fleet(programSettings(spec, workingDir, deps), spec.processes);
  const runner = new ExecRunner(settings, fleet, deps.secrets.hide);
  return {
    identity: `${VERSION}:${JSON.stringify([await programIdentity(spec, workingDir), batch !== undefined])}`,
    run: (elements, context) => runner.run(elements, context),
    close: () => fleet.close(),
  };
}

class ExecRunner {
  readonly #settings: ExecSettings;
  readonly #fleet: Fleet;
  readonly #hide: Hide;
  readonly #batcher: BatchedCalls<ExecCall, ExecResult, StepContext>;

  constructor(settings: ExecSettings, fleet: Fleet, hide: Hide) {
    const { batch, gpu, spec } = settings;
    this.#settings = settings;
    this.#fleet = fleet;
    this.#hide = hide;
    this.#batcher = batchedCalls((calls: readonly ExecCall[], call) => this.#request(calls, call), {
      gpu,
      // Without `batch` every call goes by itself, as soon as a process is idle.
      maxInFlight: batch === undefined ? undefined : spec.processes,
      maxSize: batch?.maxSize ?? 1,
      ...(batch?.maxTokens === undefined ? {} : { maxTokens: batch.maxTokens }),
      ...(batch?.maxBytes === undefined ? {} : { maxBytes: quantityBytes(batch.maxBytes) }),
      weigh: weightOf,
    });
  }

  async run(elements: readonly Element[], context: StepContext): Promise<readonly Element[]> {
    const { item, signal } = context;
    const call = { item, elements, traceparent: context.calls?.traceparent };
    const result = await this.#batcher.call(call, { context, signal });
    if (result instanceof StepError) throw result;
    return result;
  }

  async #request(
    calls: readonly ExecCall[],
    { context, contexts, signal }: BatchCall<StepContext>,
  ): Promise<readonly ExecResult[]> {
    const { batch, timeoutMs, spec } = this.#settings;
    const isBatch = batch !== undefined;
    const lineOf = (id: number) => requestLine(id, calls, isBatch);
    const served = contexts().map((one) => one.calls);
    const program = programName(spec.command);
    try {
      const reply = await context.withCard(
        (cards) => callFor(served, program, calls.length, () => this.#fleet.call(lineOf, cards, { timeoutMs, signal })),
        signal,
      );
      const results = named(spec, () => resultsOf(reply, calls.length, isBatch, this.#hide));
      const isTooLarge = (result: ExecResult) => result instanceof StepError && result.class === 'too-large';
      if (calls.length > 1 && results.every(isTooLarge)) throw new RetryWithSmallerBatch(results[0]);
      return results;
    } catch (error) {
      // Whatever ended the program may be the doing of one of the calls.
      if (calls.length > 1 && error instanceof StepError) throw new RetryWithSmallerBatch(error);
      throw error;
    }
  }
}

/** As spans name it: the file alone, since arguments may be anything. */
const programName = ([file = '']: readonly string[]): string => `${PROGRAM_CALL}${basename(file)}`;

function weightOf({ elements }: ExecCall): { tokens: number; bytes: number } {
  let tokens = 0;
  let bytes = 0;
  for (const { text = '', bytes: raw } of elements) {
    tokens += estimateTokens(text);
    bytes += Buffer.byteLength(text) + (raw?.byteLength ?? 0);
  }
  return { tokens, bytes };
}

/** Puts the program's name before what it answered wrongly. */
function named<T>(spec: ExecSpec, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    throw new StepError(error.class, `${spec.command[0]} ${error.message}`);
  }
}

function programSettings(spec: ExecSpec, workingDir: string, deps: ExecDeps): ProgramSettings {
  return {
    command: spec.command,
    workingDir,
    startTimeoutMs: durationMs(spec.startTimeout),
    maxMemoryBytes: spec.maxMemory === undefined ? undefined : quantityBytes(spec.maxMemory),
    clock: deps.clock,
    hide: deps.secrets.hide,
    env: async () => {
      deps.secrets.rememberVariables(deps.env);
      const fromSecrets = (spec.envFrom ?? []).map(
        async ({ name, from }): Promise<[string, string]> => [name, await deps.secrets.read(from)],
      );
      const own = Object.entries(deps.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
      return Object.fromEntries([...own, ...Object.entries(spec.env ?? {}), ...(await Promise.all(fromSecrets))]);
    },
  };
}

/** What decides the program's results: its declared version, else a hash over those of its arguments that are files. */
async function programIdentity(spec: ExecSpec, workingDir: string): Promise<readonly unknown[]> {
  const { command, env, version } = spec;
  if (version !== undefined) return [command, env ?? {}, version];
  const hash = createHash('sha256');
  for (const part of command) {
    const content = await readFile(resolve(workingDir, part)).catch(() => undefined);
    if (content !== undefined) hash.update(`${part}\n${content.length}\n`).update(content);
  }
  return [command, env ?? {}, hash.digest('hex')];
}
