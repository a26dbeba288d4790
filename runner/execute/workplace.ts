// What the steps of one run work with, and what they make for its commit.
import type { Element, Item } from '../sdk/index.ts';
import type { Attempts } from './attempts.ts';
import type { Content } from './content.ts';
import type { RunMemo } from './memo.ts';
import type { Nested } from './nested.ts';
import type { CompiledModule } from './plan.ts';
import type { CardGrant, Target } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { timed } from './timed.ts';

/** What the steps of a run work with. */
export interface Workplace {
  readonly run: Run;
  readonly services: Services;
  readonly attempts: Attempts;
  readonly item: Item;
  readonly content: Content;
  readonly memo: RunMemo;
}

/** Where user code is called. */
export interface CallPlace extends Workplace {
  readonly step: CompiledModule;
  readonly nested: Nested;
}

/** Elements that a component wants as rows, by target. */
export type Exports = ReadonlyMap<Target, readonly Element[]>;

/** Declares elements as rows. */
export function addRows(exports: Map<Target, Element[]>, target: Target, elements: readonly Element[]): void {
  exports.set(target, [...(exports.get(target) ?? []), ...elements]);
}

/** The share goes back when the body ended, not when the run stopped waiting for it (G6). `wait` goes round the wait for it. */
export async function holdCard<T>(
  gpuMilli: number | undefined,
  { run, services }: Workplace,
  signal: () => AbortSignal,
  body: (cards: CardGrant | undefined) => Promise<T>,
  wait = <H>(waiting: Promise<H>): Promise<H> => waiting,
): Promise<T> {
  if (gpuMilli === undefined) return body(undefined);
  const acquire = () => wait(services.cards.acquire(run.number, gpuMilli, signal()));
  const held = await timed(run.times, 'card', 'wait', acquire, gpuMilli);
  try {
    return await timed(run.times, 'card', 'hold', () => body(held.grant), gpuMilli);
  } finally {
    held.release();
  }
}
