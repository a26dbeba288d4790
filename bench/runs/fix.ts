// A one-file fix behind 400,000 runs of a second each on 1,024 slots, which free one after another.
import type { DispatchEvents } from '../../operator/dispatch/index.ts';
import { openField, update } from './field.ts';
import { machineMs } from './machine-ms.ts';
import { startOne } from './start.ts';

const BACKLOG = 400_000;
const SLOTS = 1_024;
const FIXES = 200;

export interface FixWaits {
  /** From the next slot that was freed after the request to the start on a runner. */
  readonly sinceReleaseMs: number[];
  readonly sinceRequestMs: number[];
}

/** `where`: in a source of its own, or in the very source that is being indexed. */
export async function fixBehindBacklog(where: 'another source' | 'the same source'): Promise<FixWaits> {
  const releases = new Releases();
  const sources = ['backlog', 'fix'];
  const { dispatcher, close } = await openField({ slotsMax: SLOTS, runnerSlots: SLOTS / 2, sources, events: releases });
  void update(dispatcher, 'backlog', { children: BACKLOG, eachMs: 1_000, window: BACKLOG });
  await releases.flowing;
  const waits: FixWaits = { sinceReleaseMs: [], sinceRequestMs: [] };
  for (let i = 0; i < FIXES; i++) {
    const released = releases.next();
    const fix = startOne(dispatcher, where === 'the same source' ? 'backlog' : 'fix', `fix-${i}`);
    const releasedAtMs = await released;
    const { askedAtMs, startedAtMs } = await fix;
    waits.sinceReleaseMs.push(startedAtMs - releasedAtMs);
    waits.sinceRequestMs.push(startedAtMs - askedAtMs);
  }
  await close();
  return waits;
}

/** The moments at which runs of the backlog give their slots back. */
class Releases implements DispatchEvents {
  readonly #isFlowing = Promise.withResolvers<void>();
  #requested = 0;
  #ended = 0;
  #tell: ((atMs: number) => void) | undefined;

  /** The whole backlog waits, and slots free one after another. */
  get flowing(): Promise<void> {
    return this.#isFlowing.promise;
  }

  next(): Promise<number> {
    return new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  requested: NonNullable<DispatchEvents['requested']> = () => {
    this.#requested++;
  };

  ended: NonNullable<DispatchEvents['ended']> = ({ kind, update }) => {
    if (update.kind !== 'cycle' || kind !== 'item') return;
    if (++this.#ended >= SLOTS && this.#requested > BACKLOG) this.#isFlowing.resolve();
    const tell = this.#tell;
    if (tell === undefined) return;
    this.#tell = undefined;
    tell(machineMs());
  };
}
