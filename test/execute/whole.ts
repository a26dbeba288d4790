// The engine under the real dispatcher, tree and triggers, on the embedded state with the embedded target in one file: all that `fairlead dev` runs,
// but the source and the steps, which a test holds in its hands, and the clock, which stands still until a test moves it.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Dispatcher, type UpdateEnding } from '../../operator/dispatch/index.ts';
import { PipelineTriggers, SourceTriggers } from '../../operator/triggers/index.ts';
import { Engine, type PlannedStep, type Step } from '../../runner/execute/index.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { SqliteTarget } from '../../runner/targets/index.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { LinesStep, ReadStep, TestSource, WorkStep } from './world.ts';

export interface WholeOptions {
  readonly slots: number;
  readonly mode?: 'Refresh' | 'Watch';
  /** A full cycle as a net under the watcher's events, so often. Default: none. */
  readonly resyncMs?: number;
  readonly steps?: readonly PlannedStep[];
  /** Default: true. */
  readonly livesOn?: boolean;
}

export class Whole {
  readonly clock = new VirtualClock();
  readonly source: TestSource;
  readonly work = new WorkStep();
  readonly file = join(mkdtempSync(join(tmpdir(), 'fairlead-whole-')), 'state.db');
  readonly ended: { readonly kind: string; readonly ending: UpdateEnding }[] = [];
  readonly #options: WholeOptions;
  #processes = 0;
  state!: SqliteState;
  target!: SqliteTarget;
  engine!: Engine;
  dispatcher!: Dispatcher;
  triggers!: SourceTriggers;
  pipeline!: PipelineTriggers;

  constructor(options: WholeOptions, source = new TestSource()) {
    this.#options = options;
    this.source = source;
  }

  /** A process starts. */
  async start(): Promise<void> {
    const { clock, source } = this;
    this.#processes += 1;
    this.target = new SqliteTarget({ name: 'rows', table: 'rows', pipeline: 'test/whole' });
    this.state = new SqliteState({ file: this.file, clock, shared: [this.target] });
    const epoch = await this.state.open('next');
    await this.target.prepare();
    this.engine = new Engine({
      state: this.state,
      plan: { component: { steps: this.#steps() }, targets: [this.target], maxContentBytes: 1_000_000 },
      sources: new Map([['docs', { source, deleteGuard: { maxPercent: 50, minItems: 20 } }]]),
      clock,
      random: () => 0,
      livesOn: this.#options.livesOn ?? true,
    });
    this.dispatcher = new Dispatcher({ clock, slotsMax: this.#options.slots, epoch });
    const { uplink } = this.dispatcher.addRunner({
      name: 'here',
      runnerClass: 'any',
      slots: 1_024,
      runner: this.engine,
    });
    this.engine.connect(uplink);
    this.#trigger();
  }

  /** The process ends without a word, and another one starts. */
  async restart(): Promise<void> {
    await this.state.close();
    await this.start();
  }

  #steps(): readonly PlannedStep[] {
    return (
      this.#options.steps ?? [
        { verb: 'read', step: new ReadStep() },
        { verb: 'lines', step: new LinesStep() },
        { verb: 'work', step: this.#mortal(this.work) },
        { verb: 'export', target: 'rows' },
      ]
    );
  }

  /** A step of this process: once that has ended, it neither begins nor answers. */
  #mortal(step: Step): Step {
    const mine = this.#processes;
    const never = new Promise<never>(() => {});
    return {
      identity: step.identity,
      run: async (...args) => {
        if (mine !== this.#processes) return never;
        const result = await step.run(...args);
        return mine === this.#processes ? result : never;
      },
      close: () => step.close(),
    };
  }

  #trigger(): void {
    const { clock, dispatcher } = this;
    const note = ({ kind }: { readonly kind: string }, ending: UpdateEnding): void => {
      // A process that was ended without a word goes on in this one's memory; nobody hears it any more.
      if (this.dispatcher === dispatcher) this.ended.push({ kind, ending });
    };
    const { mode = 'Refresh', resyncMs } = this.#options;
    const net = resyncMs === undefined ? {} : { schedule: { kind: 'interval' as const, everyMs: resyncMs } };
    this.triggers = new SourceTriggers({
      clock,
      door: dispatcher,
      source: 'docs',
      settings: { mode, ...net },
      observer: { ended: note },
    });
    this.pipeline = new PipelineTriggers({
      door: dispatcher,
      observer: { ended: note },
    });
    this.pipeline.add(this.triggers);
    dispatcher.openSource({ name: 'docs', onChanged: (changes) => this.triggers.changed(changes) });
    if (mode === 'Watch') dispatcher.watchSource('docs');
  }

  /** Lets everything happen that needs no time. */
  async rest(): Promise<void> {
    await settle(8);
  }

  /** Moves time on, timer by timer, until `isDone`; answers how long it took. */
  async until(isDone: () => boolean | Promise<boolean>, withinMs: number): Promise<number> {
    const beganMs = this.clock.nowMs();
    for (;;) {
      await this.rest();
      if (await isDone()) return this.clock.nowMs() - beganMs;
      const dueMs = this.clock.nextDueMs();
      if (dueMs === undefined || dueMs - beganMs > withinMs) throw new Error(`not within ${withinMs} ms`);
      this.clock.advance(dueMs - this.clock.nowMs());
    }
  }

  /** Until no update is open. */
  async idle(withinMs: number): Promise<number> {
    return this.until(() => this.dispatcher.updates.size === 0, withinMs);
  }

  /** Texts that a search finds, by item, in the order of their place: what a reader sees. */
  async texts(): Promise<Record<string, string[]>> {
    const hits = await this.target.search({ text: 'text', limit: 100_000 });
    const sorted = [...hits].sort((a, b) => (a.element.place?.startLine ?? 0) - (b.element.place?.startLine ?? 0));
    const all: Record<string, string[]> = {};
    for (const { key, element } of sorted) all[key] = [...(all[key] ?? []), element.text ?? ''];
    return all;
  }

  async text(key: string): Promise<string | undefined> {
    return (await this.texts())[key]?.join('\n');
  }
}
