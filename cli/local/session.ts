// What every command of the local mode shares: streams, the reporter that fits them, Ctrl-C, and the exit code.
import { setInterval, setTimeout } from 'node:timers';
import type { Telemetry } from '../../operator/telemetry/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { CommandError, EXIT, type ExitName } from '../exit.ts';
import { guardOutput } from '../guard.ts';
import type { Form } from '../output.ts';
import { standardInput } from '../standard-input.ts';
import { DataReport, jsonLine, yamlDocument } from './data-report.ts';
import type { PipelineObjects, Surroundings } from './objects.ts';
import { LocalPipeline, type PipelineOptions } from './pipeline.ts';
import { PlainReport } from './plain-report.ts';
import type { EndedUpdate, Reporter, Streams } from './report.ts';
import { TerminalReport } from './terminal-report.ts';
import { openTraces } from './traces.ts';

/** Often enough for a bar that moves, seldom enough to cost nothing. */
const TICK_MS = 200;
const FORGIVE_MS = 300;

export const surroundings = (): Surroundings => ({
  cwd: process.cwd(),
  environment: process.env,
  stdin: standardInput,
});

const streams: Streams = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/** JSON lines or YAML documents for programs, bars on a terminal, plain lines elsewhere. */
export function reporterFor(output: Form | undefined): Reporter {
  if (output === 'json') return new DataReport(streams, jsonLine);
  if (output === 'yaml') return new DataReport(streams, yamlDocument);
  if (process.stderr.isTTY !== true || process.env.TERM === 'dumb') return new PlainReport(streams);
  const isAscii = !/utf-?8/i.test(process.env.LC_ALL ?? process.env.LC_CTYPE ?? process.env.LANG ?? '');
  return new TerminalReport({ ...streams, columns: () => process.stderr.columns ?? 80, isAscii });
}

/** Pipelines at work in this process. */
export class Session {
  readonly reporter: Reporter;
  readonly #pipelines: LocalPipeline[] = [];
  readonly #stopped: Promise<void>;
  #wasStopped = false;
  #lost: string | undefined;
  #stop: () => void = () => {};

  constructor(reporter: Reporter) {
    this.reporter = reporter;
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  /** Opens the Pipelines, does the work, and closes them whatever happens. Ctrl-C once drains, twice ends at once. */
  async run(
    objects: readonly PipelineObjects[],
    work: (all: readonly LocalPipeline[], telemetry?: Telemetry) => Promise<void>,
    { stays = false }: { readonly stays?: boolean } = {},
  ): Promise<void> {
    const ticking = setInterval(() => this.#tick(), TICK_MS);
    const onSignal = () => this.#interrupted();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
    const traces = await openTraces(process.env, this.reporter, stays);
    const follow = traces && ((pipeline: string) => traces.telemetry.follow(pipeline));
    const options = { ...this.#options(), stays, ...(follow && { follow }) };
    const unguard = guardOutput(process, (text) =>
      this.#pipelines.reduce((said, { assembly }) => assembly.hide(said), text),
    );
    try {
      for (const one of objects) await this.#open(one, options);
      await work(this.#pipelines, traces?.telemetry);
    } finally {
      clearInterval(ticking);
      for (const pipeline of this.#pipelines) await pipeline.close();
      await traces?.close();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
      this.reporter.close();
      unguard();
    }
    if (this.#lost !== undefined) throw new CommandError(this.#lost);
  }

  async #open(objects: PipelineObjects, options: PipelineOptions): Promise<void> {
    this.#pipelines.push(await LocalPipeline.open(objects, options));
    if (this.#wasStopped) throw new CommandError('stopped before it began', 'cancelled');
  }

  /** Resolves when the user asked to stop. */
  get stopped(): Promise<void> {
    return this.#stopped;
  }

  get wasStopped(): boolean {
    return this.#wasStopped;
  }

  #options() {
    return {
      clock: systemClock,
      environment: process.env,
      reporter: this.reporter,
      stopped: this.#stopped,
      onLost: (message: string) => {
        this.#lost ??= message;
        this.#stop();
      },
    };
  }

  #tick(): void {
    const states = this.#pipelines.flatMap((pipeline) => pipeline.states());
    if (states.length > 0) this.reporter.progress(states, systemClock.nowMs());
  }

  #interrupted(): void {
    if (this.#wasStopped) {
      this.#leave();
      return;
    }
    this.#wasStopped = true;
    this.reporter.note('stopping: what runs is finished first; press Ctrl-C again to stop at once');
    this.#stop();
    for (const pipeline of this.#pipelines) void pipeline.drain();
  }

  /** At once, but for a word to the state that no item is to blame for it. */
  #leave(): void {
    const exit = (): void => process.exit(EXIT.cancelled.code);
    setTimeout(exit, FORGIVE_MS);
    void Promise.all(this.#pipelines.map((pipeline) => pipeline.forgive())).finally(exit);
  }
}

/** Exit code of updates: the gravest of their endings. */
export function exitOf(updates: readonly EndedUpdate[]): ExitName {
  const results = new Set(updates.map(({ result }) => result));
  if (results.has('Failed')) return 'failed';
  if (results.has('Cancelled')) return 'cancelled';
  return results.has('CompletedWithErrors') ? 'completedWithErrors' : 'ok';
}
