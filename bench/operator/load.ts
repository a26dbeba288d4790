// What a process costs over some time.
import { setTimeout as pause } from 'node:timers/promises';
import type { OperatorProcess } from './process.ts';

export interface Load {
  readonly requestsPerS: number;
  readonly cpuPercent: number;
  readonly cyclesPerS: number;
  /** At the end. */
  readonly rssMib: number;
}

/** Watches for `seconds`; `cycles` counts those that were executed so far. */
export async function measured(operator: OperatorProcess, seconds: number, cycles = () => 0): Promise<Load> {
  const [before, cyclesBefore, startedMs] = [await operator.read(), cycles(), performance.now()];
  await pause(seconds * 1000);
  const after = await operator.read();
  const tookS = (performance.now() - startedMs) / 1000;
  return {
    requestsPerS: (after.requests - before.requests) / tookS,
    cpuPercent: ((after.cpuMs - before.cpuMs) / 1000 / tookS) * 100,
    cyclesPerS: (cycles() - cyclesBefore) / tookS,
    rssMib: after.rssMib,
  };
}
