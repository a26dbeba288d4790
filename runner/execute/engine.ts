// The engine: executes the runs that somebody else admits.
// Owns:   runs on this runner, their children as they see them, commits, memo, cancellation.
// Leaves: when a run may start and in what order (the dispatcher and its tree), where items come from and rows go (ports).
//   E1. Each order is answered by exactly one exit, after the commit and after all children ended.
//   E2. Low overhead: a run that finds nothing to do costs one batched read and one grouped commit.
//   E3. Nothing is executed twice for one version: what the state records as done is compared, not run.
//   E4. A component's rows change in one step, all or nothing, under its run's token.
//   E5. A listing that did not end cleanly deletes nothing.
//   E6. A failed run keeps the old rows and stops no other.
//   E7. A cancelled run ends at once, loses nothing, and leaves its work in the list.
//   E8. Killed at any moment and started again, the engine ends with the rows of a run that was never killed.
//   E9. What leaves the engine in words for people (ends of runs, failures and updates in the state, notes) went through `hide`.
import type { Clock } from '../clock.ts';
import type { CardGrant, FencingToken, RunNumber, Runner, RunOrder, RunOutcome, Uplink } from '../protocol/index.ts';
import { NO_COUNTS } from '../protocol/index.ts';
import type { Progress } from '../sdk/index.ts';
import type { Hide } from '../secrets.ts';
import { afterThisCode, afterThisTurn, Batcher } from './batch.ts';
import { CardDesk } from './cards.ts';
import { Caution } from './caution.ts';
import { CensusTaker } from './census-taker.ts';
import { Choice } from './choice.ts';
import { Committer } from './commit.ts';
import { executeElement, executeModule } from './component.ts';
import { executeCycle } from './cycle.ts';
import { executeDrop } from './drop.ts';
import { Endurance } from './endurance.ts';
import { toRunError } from './failure.ts';
import { ItemRun } from './item.ts';
import { jobOf } from './job.ts';
import { LostRows } from './lost-rows.ts';
import { Meter } from './meter.ts';
import { executeLive } from './module-live.ts';
import { Notes } from './notes.ts';
import { executePipeline } from './pipeline.ts';
import { compilePlan } from './plan.ts';
import { Portions } from './portions.ts';
import type { ComponentRef, Intent, MemoEntry, Opened, PipelinePlan, SourcePlan, StateStore, Target } from './ports.ts';
import { executeQuestion } from './questions.ts';
import { Run } from './run.ts';
import type { Services } from './services.ts';
import { Sweeper } from './sweeper.ts';
import { Turns } from './turns.ts';
import { UpdateBook } from './updates.ts';
import { executeWatch } from './watch.ts';

const OPEN_BATCH_MAX = 500;
const MEMO_BATCH_MAX = 2_000;
/** Runs that begin in one turn of the event loop. */
const STARTS_MAX = 128;

export interface EngineOptions {
  /** Opened by the wiring. */
  readonly state: StateStore;
  /** Its targets are prepared by the wiring. */
  readonly plan: PipelinePlan;
  /** By name of the LiveSource. */
  readonly sources: ReadonlyMap<string, SourcePlan>;
  readonly clock: Clock;
  /** In [0, 1); for jitter. */
  readonly random?: () => number;
  /** Targets whose `prepare` answered `adopted`. */
  readonly adopted?: readonly Pick<Target, 'sweep'>[];
  /** False: the process ends with its updates, so that what user code mounted to live on runs once in each cycle instead. Default true. */
  readonly livesOn?: boolean;
  /** All rows of a source, or of the Pipeline, were removed because it is deleted: what is kept of it elsewhere goes too. */
  readonly forget?: (source: string | undefined) => Promise<void>;
  /** Takes secrets out of texts (E9). Absent: the Pipeline has none. */
  readonly hide?: Hide;
}

/** How far one run is, as its user code says. */
export interface RunProgress extends Progress {
  readonly source: string;
  readonly key: string;
  readonly path: string;
}

export class Engine implements Runner {
  readonly #services: Services;
  readonly #endurance: Endurance;
  readonly #runs = new Map<RunNumber, Run>();
  readonly #starts = new Portions<Run>(STARTS_MAX, (run) => void this.#execute(run));

  constructor(options: EngineOptions) {
    this.#services = servicesOf(options);
    this.#endurance = new Endurance(options.state, options.clock, { [Symbol.iterator]: () => this.#runs.values() });
  }

  /** Whom the engine answers to; called once, before the first `start`. */
  connect(uplink: Uplink): void {
    this.#services.uplink = uplink;
    this.#services.census.changed();
  }

  /** Runs that execute here or wait for their children. */
  get runsInFlight(): number {
    return this.#runs.size;
  }

  /** Facts for people that steps told about items of a source since the last call, such as "is binary". Bounded. */
  takeNotes(source: string): readonly string[] {
    return this.#services.notes.take(source);
  }

  /** What runs whose user code tells how far it is are at, oldest first. */
  progressOfRuns(): RunProgress[] {
    return [...this.#runs.values()].flatMap(({ progress, order: { source = '', key = '', path } }) =>
      progress === undefined ? [] : [{ ...progress, source, key, path }],
    );
  }

  /** The user wants the process to end at once: what it is at now is not what ended it. Never rejects. */
  forgive(): Promise<void> {
    return this.#services.caution.forgive([...this.#runs.values()]);
  }

  start(order: RunOrder): void {
    const { uplink, clock } = this.#services;
    const run = new Run(order, uplink, clock);
    this.#runs.get(run.number)?.cancel('a later attempt of the same run began');
    this.#runs.set(run.number, run);
    this.#endurance.watch();
    this.#starts.add(run);
  }

  cancel(run: RunNumber, why: string): void {
    this.#runs.get(run)?.cancel(why);
  }

  renewed(run: RunNumber, token: FencingToken): void {
    this.#runs.get(run)?.renew(token);
  }

  mountStarted(parent: RunNumber, mount: number): void {
    this.#runs.get(parent)?.mounts.started(mount);
  }

  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    this.#runs.get(parent)?.mounts.ended(mount, outcome);
  }

  cardGranted(_run: RunNumber, ask: number, grant: CardGrant): void {
    this.#services.cards.granted(ask, grant);
  }

  cardRefused(_run: RunNumber, ask: number, why: string): void {
    this.#services.cards.refused(ask, why);
  }

  async #execute(run: Run): Promise<void> {
    let outcome: RunOutcome;
    try {
      outcome = await this.#perform(run);
    } catch (thrown) {
      outcome = { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown) };
    }
    if (this.#runs.get(run.number) !== run) return;
    this.#runs.delete(run.number);
    if (this.#runs.size === 0) this.#endurance.rest();
    if (run.isRoot) this.#services.workers.delete(run.order.update);
    this.#tell(run, outcome);
  }

  #tell(run: Run, ended: RunOutcome): void {
    const { uplink, choice, meter, hide } = this.#services;
    const outcome = hidden(ended, hide);
    if (run.times === undefined) uplink.exited(run.number, outcome);
    else uplink.exited(run.number, outcome, choice.traceOf(run.order, run.times, outcome));
    const stats = meter.take(this.#runs.size === 0);
    if (stats !== undefined) uplink.measured?.(stats);
  }

  #perform(run: Run): Promise<RunOutcome> {
    const services = this.#services;
    const job = jobOf(run.order);
    switch (job.kind) {
      case 'cycle':
        return executeCycle(run, services, job.deletedBefore);
      case 'pipeline':
        return executePipeline(run, services);
      case 'question':
        return executeQuestion(run, services, job.question);
      case 'watch':
        return executeWatch(run, services);
      case 'live':
        return executeLive(run, services, job.input);
      case 'item':
        return this.#executeItem(run, job.seenAtMs);
      case 'element':
        return executeElement(run, services, job.input);
      case 'module':
        return executeModule(run, services, job.input);
      case 'drop':
        return executeDrop(run, services, job.isWhole);
    }
  }

  #executeItem(run: Run, seenAtMs: number | undefined): Promise<RunOutcome> {
    const ended = new ItemRun(run, this.#services, seenAtMs).execute();
    return run.isRoot ? this.#book(run, ended) : ended;
  }

  async #book(run: Run, ended: Promise<RunOutcome>): Promise<RunOutcome> {
    const outcome = await ended;
    if (outcome.kind !== 'parked') await new UpdateBook(run, this.#services).close(outcome);
    return outcome;
  }
}

/** Stands for the dispatcher until `connect`. */
const NOBODY = new Proxy({} as Uplink, {
  get: () => () => {
    throw new Error('the engine is not connected to a dispatcher yet');
  },
});

function servicesOf(options: EngineOptions): Services {
  const { state, clock } = options;
  const plan = compilePlan(options.plan);
  const meter = new Meter(clock);
  const hide = options.hide ?? ((text) => text);
  const services: Services = {
    state,
    uplink: NOBODY,
    clock,
    random: options.random ?? Math.random,
    plan,
    sources: options.sources,
    opener: new Batcher<ComponentRef, Opened>((refs) => state.begin(refs), {
      sizeMax: OPEN_BATCH_MAX,
      gather: afterThisCode,
    }),
    intents: new Batcher((intents: readonly Intent[]) => state.intend(intents), {
      sizeMax: OPEN_BATCH_MAX,
      gather: afterThisTurn,
    }),
    committer: new Committer(state, clock, (components) => {
      meter.committed(components);
      services.census.changed();
    }),
    census: new CensusTaker(
      () => state.census(),
      clock,
      (census) => services.uplink.counted?.(census),
    ),
    memo: {
      entries: new Batcher((keys: readonly string[]) => state.memo.get(keys), {
        sizeMax: MEMO_BATCH_MAX,
        gather: afterThisCode,
      }),
      targets: plan.targets.filter((target) => target.keepsVectors),
    },
    notes: new Notes(hide),
    hide,
    forget: options.forget ?? (async () => {}),
    choice: new Choice(),
    meter,
    live: { isOn: options.livesOn ?? true, resumed: new Set() },
    sweeper: new Sweeper(state, clock),
    lostRows: new LostRows(state, options.sources, options.adopted ?? []),
    workers: new Map(),
    fresh: new Map(),
    caution: new Caution(state),
    listings: new Turns(),
    keep: (entries) => keep(state, entries),
    cards: new CardDesk(() => services.uplink, clock),
  };
  return services;
}

/** E9. */
function hidden(outcome: RunOutcome, hide: Hide): RunOutcome {
  if (outcome.kind === 'cancelled') return { ...outcome, why: hide(outcome.why) };
  if (outcome.kind !== 'failed' && outcome.kind !== 'parked') return outcome;
  return { ...outcome, error: { ...outcome.error, message: hide(outcome.error.message) } };
}

/** Losing what was computed costs time, never rows. */
async function keep(state: StateStore, entries: readonly MemoEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await state.memo.put(entries).catch(() => {});
}
