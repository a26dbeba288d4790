// One Pipeline in this process, for benchmarks: what `fairlead dev` wires, without its reports.
import {
  type DispatchEvents,
  Dispatcher,
  type DispatcherOptions,
  type UpdateEnding,
} from '../../operator/dispatch/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { Engine, type PipelinePlan, type SourcePlan, type StateStore } from '../../runner/execute/index.ts';

export const GUARD = { maxPercent: 50, minItems: 20 };

export interface LocalOptions {
  readonly state: StateStore;
  readonly epoch: number;
  readonly plan: PipelinePlan;
  readonly sources: ReadonlyMap<string, SourcePlan>;
  readonly slots: number;
  readonly events?: DispatchEvents;
  readonly traceparentOf?: DispatcherOptions['traceparentOf'];
  readonly onChanged?: Parameters<Dispatcher['openSource']>[0]['onChanged'];
}

export class Local {
  readonly dispatcher: Dispatcher;

  constructor({ state, epoch, plan, sources, slots, events, traceparentOf, onChanged }: LocalOptions) {
    const engine = new Engine({ state, plan, sources, clock: systemClock });
    this.dispatcher = new Dispatcher({
      clock: systemClock,
      slotsMax: slots,
      epoch,
      ...(events && { events }),
      ...(traceparentOf && { traceparentOf }),
    });
    const { uplink } = this.dispatcher.addRunner({ name: 'bench', runnerClass: 'bench', slots, runner: engine });
    engine.connect(uplink);
    for (const name of sources.keys()) this.dispatcher.openSource({ name, ...(onChanged && { onChanged }) });
  }

  /** One cycle of a source; answers how long it took. Anything but a full success throws. */
  async cycle(source: string): Promise<{ readonly tookMs: number; readonly ending: UpdateEnding }> {
    const beganMs = performance.now();
    const ending = await new Promise<UpdateEnding>((resolve) => {
      const observer = { ended: (_update: unknown, ended: UpdateEnding) => resolve(ended) };
      this.dispatcher.startUpdate({ kind: 'cycle', source, trigger: 'bench', observer });
    });
    if (ending.result !== 'Succeeded') throw new Error(`the cycle of ${source} ended ${ending.result}`);
    return { tookMs: performance.now() - beganMs, ending };
  }
}

/** Seconds of CPU that this process took so far, threads included. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

export function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
