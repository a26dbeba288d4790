// From the request of a run to its start where nothing else runs.
import { openField } from './field.ts';
import { startOne } from './start.ts';

const STARTS = 1_000;

export async function startsWhenIdle(): Promise<number[]> {
  const { dispatcher, close } = await openField({ slotsMax: 1_024, runnerSlots: 512, sources: ['fix'] });
  const waits: number[] = [];
  for (let i = -50; i < STARTS; i++) {
    const { askedAtMs, startedAtMs } = await startOne(dispatcher, 'fix', `file-${i}`);
    if (i >= 0) waits.push(startedAtMs - askedAtMs);
  }
  await close();
  return waits;
}
