// A runner process: dials the operator, opens the Pipeline that it is told to work for, and executes its runs until it is asked to leave.
//   When specs change, it hands back what would go on for long, lets the rest end, opens the parts anew, and joins again.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { liveSourceSpec, type PipelineSpec, pipelineSpec } from '../crds/schema/index.ts';
import { type Assembly, assemble, type OpeningReason, openingReason, type Part } from './assemble/index.ts';
import { systemClock } from './clock.ts';
import { Engine } from './execute/index.ts';
import type { ReadSecret } from './secrets.ts';
import {
  type Connection,
  connect,
  DeferredEngine,
  type RunnerIdentity,
  type RunnerSpecs,
  specsText,
} from './session/index.ts';
import { type PushServer, PushSource, servePushes } from './sources/index.ts';
import { holderText } from './state/index.ts';

export interface RunnerProgramOptions {
  readonly identity: RunnerIdentity;
  readonly addresses: readonly string[];
  readonly caFile: string;
  readonly tokenFile: string;
  /** Clones, caches, and embedded state. */
  readonly dataDir: string;
  /** Relative paths of the specs start here. */
  readonly baseDir: string;
  readonly secret: ReadSecret;
  /** Where push sources listen; absent: they take nothing here. */
  readonly pushAddress?: { readonly host: string; readonly port: number };
  /** How long runs may take to end when the runner is asked to leave; after that they are handed back. */
  readonly graceMs: number;
  readonly log: (text: string) => void;
}

export interface RunnerProgram {
  /** Resolves when the runner has left, with everything ended or handed back; rejects with RunnerFailed where it could not begin. */
  readonly done: Promise<void>;
  /** Asks it to leave: what runs may end within the grace, the rest is handed back. */
  leave(why: string): void;
  /** Nothing executes from now on, and operators are told as far as they are reached. The process must end then. */
  stopNow(why: string): void;
}

/** The Pipeline's parts could not be opened here: state in use, a target that is not reached. Another try may help. */
export class RunnerFailed extends Error {
  override readonly name = 'RunnerFailed';
}

/** Fraction of the grace in which runs may end; the rest is for stopping those that did not. */
const END_FRACTION = 0.8;
/** What the link gets to say that the runner is gone. */
const LAST_WORDS_MS = 300;

export function startRunner(options: RunnerProgramOptions): RunnerProgram {
  let serving: Serving | undefined;
  let leavingWhy: string | undefined;
  const serveAll = async () => {
    while (leavingWhy === undefined) {
      serving = await Serving.begin(options);
      if (leavingWhy !== undefined) serving.leave(leavingWhy);
      await serving.done;
    }
  };
  return {
    done: serveAll(),
    leave: (why) => {
      leavingWhy ??= why;
      serving?.leave(why);
    },
    stopNow: (why) => serving?.stopNow(why),
  };
}

/** One time of serving, with specs that do not change. */
class Serving {
  readonly done: Promise<void>;
  readonly #options: RunnerProgramOptions;
  readonly #connection: Connection;
  readonly #engine = new DeferredEngine();
  #assembly: Promise<Assembly> | undefined;
  #opening: Part | undefined;
  #door: Promise<PushServer | undefined> = Promise.resolve(undefined);
  /** What the specs said that the parts were opened for. */
  #specsText: string | undefined;
  #epoch = 0;
  #isLeaving = false;
  #finish!: () => void;
  #fail!: (error: Error) => void;

  static async begin(options: RunnerProgramOptions): Promise<Serving> {
    return new Serving(options, await readFile(options.caFile, 'utf8'));
  }

  private constructor(options: RunnerProgramOptions, ca: string) {
    this.#options = options;
    const { identity, addresses, tokenFile, log } = options;
    const left = new Promise<void>((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    this.#connection = connect({
      engine: this.#engine,
      identity,
      addresses,
      ca,
      tokenFile,
      onSpecs: (specs) => this.#specs(specs),
      onOpened: (epoch) => this.#opened(epoch),
      onNote: log,
    });
    this.done = left.finally(() => this.#close());
  }

  leave(why: string): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#connection.session.leave(why, () => this.#finish());
    setTimeout(() => this.handBack(), this.#options.graceMs * END_FRACTION).unref();
  }

  handBack(): void {
    this.#connection.session.handBack();
  }

  /** This thread executes nothing more: it waits for the link's last words and must not go on. */
  stopNow(why: string): void {
    this.#connection.session.abandon(why);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_WORDS_MS);
  }

  #opened(epoch: number): void {
    this.#epoch = epoch;
    if (this.#pending !== undefined) this.#open(this.#pending);
  }

  #pending: RunnerSpecs | undefined;

  #specs(specs: RunnerSpecs): void {
    const text = specsText(specs);
    if (this.#specsText === undefined) {
      this.#specsText = text;
      if (this.#epoch === 0) this.#pending = specs;
      else this.#open(specs);
    } else if (text !== this.#specsText) this.leave('the specs changed');
  }

  #open(specs: RunnerSpecs): void {
    this.#pending = undefined;
    if (this.#assembly !== undefined) return;
    this.#assembly = this.#assemble(specs);
    const epoch = this.#epoch;
    this.#assembly.then(
      (assembly) => this.#execute(assembly, assembly.stores.epoch - epoch),
      (error: unknown) =>
        this.#cannotWork(error instanceof Error ? error.message : String(error), openingReason(error, this.#opening)),
    );
  }

  #cannotWork(why: string, reason?: OpeningReason): void {
    this.#options.log(why);
    this.#connection.session.abandon(why);
    this.#fail(new RunnerFailed(reason === undefined ? why : `${reason}: ${why}`));
  }

  #execute(assembly: Assembly, epochShift: number): void {
    const { stores, plan, sources, hide, forget } = assembly;
    const engine = new Engine({
      state: stores.state,
      plan,
      sources,
      adopted: stores.adopted,
      clock: systemClock,
      hide,
      forget,
    });
    engine.connect(this.#connection.session.uplink);
    this.#engine.attach(engine, epochShift);
    this.#door = this.#takePushes(assembly);
  }

  /** A door that cannot be opened takes no runs away: senders are refused and send again. */
  async #takePushes({ sources }: Assembly): Promise<PushServer | undefined> {
    const { pushAddress, identity, log } = this.#options;
    const found = pushSourcesOf(identity.pipeline, sources);
    if (pushAddress === undefined || found.size === 0) return undefined;
    const { host, port } = pushAddress;
    try {
      const server = await servePushes((path) => found.get(path), host, port);
      log(`items are pushed to port ${server.port}: ${[...found.keys()].join(', ')}`);
      return server;
    } catch (error) {
      log(`pushes are not taken here: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  }

  async #assemble(specs: RunnerSpecs): Promise<Assembly> {
    const { identity, dataDir, baseDir, secret } = this.#options;
    const spec: PipelineSpec = pipelineSpec.parse(JSON.parse(specs.pipeline));
    return await assemble({
      pipeline: labelOf(identity.pipeline),
      spec,
      sources: specs.sources.map((source) => ({
        name: source.name,
        spec: liveSourceSpec.parse(JSON.parse(source.spec)),
        base: baseDir,
      })),
      folders: { base: baseDir, home: dataDir },
      clock: systemClock,
      secret,
      epoch: this.#epoch,
      ignoreClasses: false,
      onLost: (holder) => this.#cannotWork(`${holderText(holder)} has taken over the state`, 'StateHeld'),
      opening: (part) => {
        this.#opening = part;
      },
    });
  }

  async #close(): Promise<void> {
    await (await this.#door)?.close();
    await this.#connection.close();
    const assembly = await this.#assembly?.catch(() => undefined);
    await assembly?.close();
  }
}

/** Push sources by the path of their webhook. */
function pushSourcesOf(pipeline: string, sources: Assembly['sources']): ReadonlyMap<string, PushSource> {
  const [namespace] = pipeline.split('/');
  const found = new Map<string, PushSource>();
  for (const [name, { source }] of sources)
    if (source instanceof PushSource) found.set(`/push/${namespace}/${name}`, source);
  return found;
}

/** As local mode names it: the namespace where it is not the default one. */
function labelOf(pipeline: string): string {
  const [namespace, name] = pipeline.split('/') as [string, string];
  return namespace === 'default' ? name : `${namespace}-${name}`;
}

/** Secrets are files, as Kubernetes mounts them (`<folder>/<secret>/<key>`); read anew at each use, since they are renewed in place. */
export function secretsIn(folder: string): ReadSecret {
  return async ({ secretKeyRef, env }) => {
    if (env !== undefined) {
      const value = process.env[env];
      if (value === undefined || value === '') throw new Error(`the variable ${env}, which the spec names, is not set`);
      return value;
    }
    if (secretKeyRef === undefined) throw new Error('a reference to a secret names neither a Secret nor a variable');
    const { name, key } = secretKeyRef;
    try {
      return (await readFile(join(folder, name, key), 'utf8')).replace(/\n$/, '');
    } catch {
      throw new Error(`the key ${key} of the Secret ${name} is not mounted in this runner`);
    }
  };
}
