// An engine that executes nothing real: a run takes time, mounts children, waits for them, commits, and ends in every way that runs end.

import type { CancelTimer } from '../../runner/clock.ts';
import {
  type CardGrant,
  type FencingToken,
  NO_COUNTS,
  type RunNumber,
  type Runner,
  type RunOrder,
  type RunOutcome,
  type Uplink,
} from '../../runner/protocol/index.ts';
import { Bodies } from './bodies.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';
import type { Store } from './store.ts';

export interface EngineRun {
  readonly order: RunOrder;
  token: FencingToken;
  /** Mounts without an end. */
  readonly pending: Set<number>;
  /** What is still to be mounted. */
  todo: string[];
  /** Of a cycle: the version of each item that it listed. */
  versions: ReadonlyMap<string, number>;
  mounts: number;
  failures: number;
  /** It waits for children and uses no slot itself. */
  isWaiting: boolean;
  isCancelled: boolean;
  timer: CancelTimer;
}

const ABORT = { class: 'transient', message: 'later' } as const;

export class Engine implements Runner {
  uplink!: Uplink;
  readonly runs = new Map<RunNumber, EngineRun>();
  readonly bodies: Bodies;
  readonly #process: Process;
  readonly #random: Random;
  readonly #store: Store;
  /** Children that a root has open at once. */
  readonly #window: number;

  constructor(options: { readonly process: Process; readonly random: Random; readonly store: Store }) {
    this.#process = options.process;
    this.#random = options.random;
    this.#store = options.store;
    this.#window = options.random.pick([1, 4, 40]);
    this.bodies = new Bodies(() => this.uplink, options.process, options.random);
  }

  start(order: RunOrder): void {
    const run: EngineRun = {
      order,
      token: order.token,
      pending: new Set(),
      todo: [],
      versions: new Map(),
      mounts: 0,
      failures: 0,
      isWaiting: false,
      isCancelled: false,
      timer: () => {},
    };
    if (this.runs.has(order.token.run)) throw new Error(`run ${order.token.run} executes here already`);
    this.runs.set(order.token.run, run);
    this.#later(run, this.#random.duration(0, 2_000), () => this.#body(run));
  }

  cancel(number: RunNumber, why: string): void {
    const run = this.runs.get(number);
    if (run === undefined || run.isCancelled) return;
    run.isCancelled = true;
    this.bodies.abandon(number);
    this.#later(run, this.#random.duration(0, 800), () => this.#exit(run, { kind: 'cancelled', why }));
  }

  renewed(number: RunNumber, token: FencingToken): void {
    const run = this.runs.get(number);
    if (run !== undefined) run.token = token;
  }

  mountStarted(): void {}

  cardGranted(_run: RunNumber, ask: number, grant: CardGrant): void {
    this.bodies.granted(ask, grant);
  }

  cardRefused(_run: RunNumber, ask: number): void {
    this.bodies.refused(ask);
  }

  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    const run = this.runs.get(parent);
    if (run === undefined || !run.pending.delete(mount)) {
      throw new Error(`mount ${mount} of run ${parent} ended, and nobody waits for it`);
    }
    if (outcome.kind === 'failed' || outcome.kind === 'cancelled') run.failures++;
    if (!run.isCancelled) this.#mountMore(run);
  }

  /** Runs that use a slot now. */
  executing(): EngineRun[] {
    return [...this.runs.values()].filter(({ isWaiting }) => !isWaiting);
  }

  #body(run: EngineRun): void {
    const { kind, source, path, update, openUpdates = [] } = run.order;
    if (kind === 'cycle') {
      run.todo = this.#store.enter(source!, update, openUpdates);
      run.versions = new Map(run.todo.map((key) => [key, this.#store.version(source!, key)]));
      this.uplink.progress(run.token.run, { listed: true, total: run.todo.length, done: 0, counts: NO_COUNTS });
    } else if (kind === 'item' && this.#random.chance(0.2) && path.split('/').length < 5) {
      run.todo = Array.from({ length: this.#random.integer(1, 3) }, (_, i) => `${i}`);
    }
    const fate = this.#random.next();
    if (kind === 'item' && fate < 0.03) this.#exit(run, failed());
    else if (kind === 'item' && fate < 0.08) {
      const resumeAfterMs = this.#random.duration(0, 20_000);
      this.#exit(run, { kind: 'parked', resumeAfterMs, error: ABORT, resume: { left: 1 } });
    } else this.#mountMore(run);
  }

  #mountMore(run: EngineRun): void {
    const window = run.order.kind === 'cycle' ? this.#window : 8;
    while (run.todo.length > 0 && run.pending.size < window) {
      const key = run.todo.shift()!;
      const mount = ++run.mounts;
      run.pending.add(mount);
      this.uplink.mount(run.token.run, this.#request(run, mount, key));
      if (this.#random.chance(0.01)) this.uplink.unmount(run.token.run, mount);
    }
    run.isWaiting = run.pending.size > 0;
    if (!run.isWaiting) this.#later(run, this.#random.duration(0, 500), () => this.#useCards(run));
  }

  /** A step that holds a share, for runs that said so. */
  #useCards(run: EngineRun): void {
    const { milliCards } = run.order;
    if (milliCards === undefined) this.#commit(run);
    else {
      this.bodies.begin(run.token.run, milliCards, (isRefused) => {
        if (isRefused) this.#exit(run, failed());
        else this.#commit(run);
      });
    }
  }

  #request(run: EngineRun, mount: number, key: string) {
    const { order } = run;
    const source = order.source!;
    const isItem = order.kind === 'cycle';
    const path = isItem ? `${source}/${key}` : `${order.path}/${key}`;
    const version = isItem ? `${run.versions.get(key)}` : (order.version ?? '1');
    const needs = this.#random.chance(0.4) ? { runnerClass: 'gpu', milliCards: this.#milliCards() } : {};
    return { mount, path, kind: 'item', source, key, version, ...needs } as const;
  }

  #milliCards(): number {
    return this.#random.chance(0.02) ? 2000 : this.#random.pick([100, 250, 400, 500, 1000]);
  }

  #commit(run: EngineRun): void {
    const { order, token } = run;
    if (order.kind === 'cycle') {
      this.#exit(run, { kind: 'done', counts: { ...NO_COUNTS, failed: run.failures } });
      return;
    }
    const answer = this.#store.commit(order.path, Number(order.version ?? 1), token);
    if (answer === 'fenced-by-epoch') this.#later(run, 500, () => this.#commit(run));
    else if (answer === 'fenced') this.#exit(run, { kind: 'cancelled', why: 'newer work was there' });
    else if (run.failures > 0) this.#exit(run, failed());
    else this.#exit(run, { kind: 'done', counts: { ...NO_COUNTS, added: 1 } });
  }

  #exit(run: EngineRun, outcome: RunOutcome): void {
    run.timer();
    this.runs.delete(run.token.run);
    this.uplink.exited(run.token.run, outcome);
  }

  #later(run: EngineRun, delayMs: number, act: () => void): void {
    run.timer();
    run.timer = this.#process.clock.after(delayMs, act);
  }
}

const failed = (): RunOutcome => ({
  kind: 'failed',
  counts: { ...NO_COUNTS, failed: 1 },
  error: { class: 'internal', message: 'it broke' },
});
