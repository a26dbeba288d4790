// Operators and runners of one Pipeline on a virtual network and clock, with chance playing against them.
// Real: the tree, the dispatcher, the gateway, the runner's link, ledger and session, and all messages as bytes.
// Played: the network, processes, the engine (engine.ts), the state store (store.ts), and who is asked to lead.

import { create } from '@bufbuild/protobuf';
import { Dispatcher, type Seat } from '../../operator/dispatch/index.ts';
import { type ExpectedRunner, Gateway, type LeaseSettings } from '../../operator/gateway/index.ts';
import { Cycles } from '../../operator/triggers/index.ts';
import { SpecsSchema } from '../../runner/protocol/index.ts';
import { RunnerLink, RunnerSession } from '../../runner/session/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Engine } from './engine.ts';
import { Stream } from './network.ts';
import { Process } from './process.ts';
import { Random } from './random.ts';
import { Store } from './store.ts';

const LEASE: LeaseSettings = { leaseTimeoutMs: 12_000, leaseMarginMs: 4_000, heartbeatMs: 500, handOverMs: 5_000 };
const STOP_GRACE_MS = 3_000;
const PIPELINE = 'test/code';

interface OperatorProcess {
  readonly process: Process;
  readonly epoch: number;
  readonly dispatcher: Dispatcher;
  readonly gateway: Gateway;
  readonly cycles: Map<string, Cycles>;
}

interface RunnerProcess {
  readonly name: string;
  readonly process: Process;
  readonly engine: Engine;
  readonly link: RunnerLink;
  readonly session: RunnerSession;
  stream: Stream | undefined;
  /** It was frozen, and has not been connected since. */
  isLate: boolean;
  isolatedUntilMs: number;
}

export class World {
  readonly clock = new VirtualClock(0);
  readonly random: Random;
  readonly store = new Store();
  readonly limit: number;
  readonly runners: RunnerProcess[] = [];
  readonly streams = new Set<Stream>();
  readonly log: string[] = [];
  operator: OperatorProcess | undefined;
  /** An operator that does not know that it leads no more. */
  zombie: OperatorProcess | undefined;
  /** Runners that operators wrote down before they gave them anything: what a new one expects. */
  readonly roster = new Map<string, ExpectedRunner>();
  readonly #sources: string[];
  #isPeaceful = false;
  #epoch = 0;
  #started = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.limit = this.random.pick([1, 2, 5, 16, 64]);
    this.#sources = ['docs', 'code', 'tickets'].slice(0, this.random.integer(1, 3));
    for (const source of this.#sources) this.addWork(source, this.random.integer(5, 60));
    this.startOperator();
    for (let i = this.random.integer(1, 4); i > 0; i--) this.startRunner(i === 1 ? 'gpu' : 'cpu');
  }

  note(text: string): void {
    this.log.push(`${this.clock.nowMs()} ${text}`);
    if (this.log.length > 400) this.log.shift();
  }

  addWork(source: string, items: number): void {
    for (let i = 0; i < items; i++) this.store.want(source, `${this.random.integer(0, 99)}`);
    this.operator?.process.enter(() => this.operator?.cycles.get(source)?.want({ trigger: 'test' }));
  }

  // ---- operators --------------------------------------------------------------------------------------------------

  startOperator(): void {
    const process = new Process(this.clock);
    const epoch = ++this.#epoch;
    const cycles = new Map<string, Cycles>();
    const dispatcher = new Dispatcher({
      clock: process.clock,
      slotsMax: this.limit,
      epoch,
      defer: process.defer,
      onAdopted: (update) => {
        const { source } = update.start;
        const adopting = source === undefined ? undefined : cycles.get(source);
        if (adopting !== undefined) dispatcher.observe(update.name, adopting.adopt(update));
      },
      onSettled: () => {
        for (const each of cycles.values()) each.unshut('take-over');
      },
    });
    for (const source of this.#sources) {
      dispatcher.openSource({ name: source });
      cycles.set(
        source,
        new Cycles({
          door: dispatcher,
          source,
          observer: { ended: () => this.#wantIfMissing(cycles, source) },
        }),
      );
    }
    const pool = { host: dispatcher, specs: () => create(SpecsSchema, { pipeline: '{}' }) };
    const gateway = new Gateway({
      clock: process.clock,
      epoch,
      operator: `operator-${epoch}`,
      pools: { find: (pipeline) => (pipeline === PIPELINE ? pool : undefined) },
      lease: LEASE,
      roster: {
        enter: (entry) => {
          if (epoch === this.#epoch) this.roster.set(entry.session!, entry);
          return epoch === this.#epoch;
        },
        leave: (session) => {
          if (epoch === this.#epoch) this.roster.delete(session);
        },
      },
      defer: process.defer,
      events: {
        left: (runner, why) => this.note(`operator ${epoch}: ${runner} left: ${why}`),
        silent: (runner) => this.note(`operator ${epoch}: ${runner} is silent`),
        joined: (runner) => this.note(`operator ${epoch}: ${runner} joined`),
      },
    });
    this.note(`operator ${epoch} starts, expecting ${[...this.roster.values()].map(({ runner }) => runner).join(' ')}`);
    gateway.expect([...this.roster.values()]);
    if (!dispatcher.isSettled) for (const each of cycles.values()) each.shut('take-over');
    this.operator = { process, epoch, dispatcher, gateway, cycles };
    this.store.epoch = epoch;
    for (const source of this.#sources) this.#wantIfMissing(cycles, source);
  }

  #wantIfMissing(cycles: Map<string, Cycles>, source: string): void {
    if (this.store.missing(source).length > 0) cycles.get(source)?.want({ trigger: 'test' });
  }

  /** The operator is killed; another one begins a while later. */
  restartOperator(downMs: number): void {
    const { operator } = this;
    if (operator === undefined) return;
    this.note(`operator ${operator.epoch} is killed`);
    this.#kill(operator.process);
    this.operator = undefined;
    this.clock.after(downMs, () => {
      if (this.operator === undefined) this.startOperator();
    });
  }

  /** The operator ends in order, and another one begins: what was said is on its way, and arrives. */
  handOver(): void {
    const { operator } = this;
    if (operator === undefined) return;
    this.note(`operator ${operator.epoch} ends in order`);
    operator.process.enter(() => operator.gateway.close('the operator ends'));
    operator.process.kill();
    this.startOperator();
  }

  /** Another operator begins to lead; the old one goes on for a while, not knowing it. */
  replaceOperator(zombieMs: number): void {
    const { operator } = this;
    if (operator === undefined || this.zombie !== undefined) return;
    this.zombie = operator;
    this.note(`operator ${operator.epoch} is replaced, and does not know`);
    this.startOperator();
    this.clock.after(zombieMs, () => this.#endZombie());
  }

  #endZombie(): void {
    if (this.zombie === undefined) return;
    this.note(`operator ${this.zombie.epoch}, which was replaced, is killed`);
    this.#kill(this.zombie.process);
    this.zombie = undefined;
  }

  cancelSomething(): void {
    const { operator } = this;
    operator?.process.enter(() => {
      const name = this.random.pick([...operator.dispatcher.updates.keys(), undefined]);
      if (name === undefined) return;
      this.note(`update ${name} is cancelled`);
      operator.dispatcher.cancelUpdate(name, 'test');
    });
  }

  makePeace(): void {
    this.#endZombie();
    this.#isPeaceful = true;
    for (const runner of this.runners) this.#thaw(runner);
    if (this.operator === undefined) this.startOperator();
    this.startRunner('cpu');
    this.startRunner('gpu');
    for (const [source] of this.store.wanted) this.addWork(source, 1);
  }

  // ---- runners ----------------------------------------------------------------------------------------------------

  startRunner(runnerClass: string): void {
    const process = new Process(this.clock);
    const name = `runner-${++this.#started}`;
    const engine = new Engine({ process, random: this.random, store: this.store });
    let sessions = 0;
    const slots = this.random.pick([1, 2, 8, 32]);
    const gpus = runnerClass === 'gpu' ? this.random.pick([1, 1, 2, 4]) : 0;
    const runner: RunnerProcess = {
      name,
      process,
      engine,
      stream: undefined,
      isLate: false,
      isolatedUntilMs: 0,
      session: new RunnerSession({
        engine,
        defer: process.defer,
        link: {
          sendBatch: (opening, bytes) => process.defer(() => runner.link.sendBatch(opening, bytes)),
          sendReport: (opening, bytes) => process.defer(() => runner.link.sendReport(opening, bytes)),
          stopped: () => process.defer(() => runner.link.stopped()),
          leave: (why) => process.defer(() => runner.link.leave(why)),
          gone: () => process.defer(() => runner.link.gone()),
        },
        kill: () => this.killRunner(runner, false),
      }),
      link: new RunnerLink({
        clock: process.clock,
        random: () => this.random.next(),
        newId: () => `${name}.${++sessions}`,
        identity: { runner: name, pipeline: PIPELINE, runnerClass, slots, gpus },
        owner: {
          opened: (opening, epoch) => process.defer(() => runner.session.opened(opening, epoch)),
          batch: (opening, bytes) => process.defer(() => runner.session.batch(opening, bytes)),
          acknowledged: (opening, batch) => process.defer(() => runner.session.acknowledged(opening, batch)),
          ready: (opening) => process.defer(() => runner.session.ready(opening)),
          over: (why) => {
            this.note(`${name}: its session is over: ${why}`);
            process.defer(() => runner.session.over(why));
          },
          specs: () => {},
          kill: (why) => {
            this.note(`${name} kills itself: ${why}`);
            this.killRunner(runner, false);
          },
          note: (text) => this.note(`${name}: ${text}`),
        },
        dial: (_attempt, events) => this.#dial(runner, events),
        stopGraceMs: STOP_GRACE_MS,
      }),
    };
    engine.uplink = runner.session.uplink;
    this.runners.push(runner);
    this.note(`${name} (${runnerClass}, ${slots} slots, ${gpus} cards) starts`);
    runner.link.start();
  }

  /** `isProven`: somebody saw the process end and says so. */
  killRunner(runner: RunnerProcess, isProven: boolean): void {
    if (!this.runners.includes(runner)) return;
    this.note(`${runner.name} is killed${isProven ? ', and that is proven' : ''}`);
    this.runners.splice(this.runners.indexOf(runner), 1);
    this.#kill(runner.process);
    for (const operator of [this.operator, this.zombie]) {
      if (!isProven || operator === undefined) continue;
      operator.process.enter(() => operator.gateway.provenGone(PIPELINE, runner.name, 'its process ended'));
    }
  }

  /** SIGTERM: it leaves, and ends when it may, or when its grace is over. */
  drainRunner(runner: RunnerProcess): void {
    this.note(`${runner.name} is asked to leave`);
    const end = () => runner.process.clock.after(50, () => this.killRunner(runner, true));
    runner.process.enter(() => {
      runner.session.leave('SIGTERM', end);
      runner.process.clock.after(5_000, () => runner.session.handBack());
    });
  }

  freezeRunner(runner: RunnerProcess, forMs: number): void {
    if (runner.process.isFrozen) return;
    this.note(`${runner.name} is frozen for ${forMs} ms`);
    runner.process.freeze();
    runner.isLate = true;
    this.clock.after(forMs, () => this.#thaw(runner));
  }

  #thaw(runner: RunnerProcess): void {
    if (!runner.process.isFrozen) return;
    this.note(`${runner.name} goes on`);
    runner.process.thaw();
  }

  /** The runner's network is cut: nothing gets through, and nobody is told. */
  isolate(runner: RunnerProcess, forMs: number): void {
    this.note(`${runner.name} is cut off for ${forMs} ms`);
    runner.isolatedUntilMs = this.clock.nowMs() + forMs;
    if (runner.stream === undefined) return;
    runner.stream.isCut = true;
    this.streams.delete(runner.stream);
  }

  /**
   * Runners whose runs count. One that was frozen does not until it is connected again: a process that does not run executes nothing, and
   * one that wakes after its time stops as the first thing that it does.
   */
  countedRunners(): RunnerProcess[] {
    for (const runner of this.runners)
      if (!runner.process.isFrozen && runner.link.phase === 'open') runner.isLate = false;
    return this.runners.filter(({ isLate }) => !isLate);
  }

  #dial(runner: RunnerProcess, events: Parameters<ConstructorParameters<typeof RunnerLink>[0]['dial']>[1]) {
    const operator = this.#operatorFor(runner);
    const isCutOff = this.clock.nowMs() < runner.isolatedUntilMs && !this.#isPeaceful;
    if (operator === undefined || isCutOff || (this.random.chance(0.1) && !this.#isPeaceful)) {
      runner.process.clock.after(this.random.duration(0, 1_000), () => events.closed('nobody answers'));
      return { send: () => {}, close: () => {}, isCongested: false };
    }
    const stream = new Stream(this.clock, this.random, runner.process, operator.process);
    this.streams.add(stream);
    runner.stream = stream;
    stream.runner.events = events;
    const mine = stream.wireOf(stream.runner);
    const peer = { name: runner.name, mayServe: () => true, isExclusive: false };
    stream.operator.events = operator.gateway.accept(peer, stream.wireOf(stream.operator));
    return mine;
  }

  /** An operator that was replaced is still found by runners that it knows; others find the one that leads. */
  #operatorFor(runner: RunnerProcess): OperatorProcess | undefined {
    const { zombie, operator } = this;
    const isKnown =
      zombie !== undefined && [...zombie.gateway.sessions].some((session) => session.runner === runner.name);
    return isKnown && this.random.chance(0.5) ? zombie : operator;
  }

  #kill(process: Process): void {
    process.kill();
    for (const stream of [...this.streams]) {
      if (stream.runner.process !== process && stream.operator.process !== process) continue;
      this.streams.delete(stream);
      stream.breakNow();
    }
  }

  /** Nothing is left to do, and nobody is left to be heard of. */
  isDone(): boolean {
    const { operator } = this;
    if (operator === undefined || operator.dispatcher.liveRuns > 0 || !operator.dispatcher.isSettled) return false;
    if ([...operator.gateway.sessions].some(({ phase }) => phase !== 'serving')) return false;
    return [...this.store.wanted.keys()].every((source) => this.store.missing(source).length === 0);
  }

  seats(): Seat[] {
    return [...(this.operator?.dispatcher.seats() ?? [])];
  }
}
