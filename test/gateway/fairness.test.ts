// The fairness of a small update beside a big one, with an operator and two runner processes: runs end in the order in which they were granted,
// each when the one before has had its effect, as runs of equal length do. So the figure is one of the tree and the link, not of this machine.
// FAIRLEAD_FAIR_ROUNDS=5 for the long form (`make test-cluster`). The same in real time: `npm run bench -- runs`.
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Field, openField, update } from '../../bench/runs/field.ts';
import type { DispatchEvents, RunView } from '../../operator/dispatch/index.ts';

vi.setConfig({ testTimeout: 180_000 });

const SLOTS = 8;
const BIG = 400;
const SMALL = 40;
const ROUNDS = Number(process.env.FAIRLEAD_FAIR_ROUNDS ?? 1);

test.each([
  ['together', 'cycle'],
  ['one by one', 'cycle'],
  ['together', 'keys'],
  ['one by one', 'keys'],
] as const)(
  'F44: mounted %s, a small %s of 40 beside 400 ends with at most 56 of these done',
  async (mounting, small) => {
    for (let round = 0; round < ROUNDS; round++) await play(mounting, small);
  },
);

async function play(mounting: 'together' | 'one by one', small: 'cycle' | 'keys'): Promise<void> {
  const steps = new Steps();
  const field = await openField({ slotsMax: SLOTS, runnerSlots: SLOTS / 2, sources: ['big', 'small'], events: steps });
  let isOpen = true;
  onTestFinished(() => (isOpen ? field.close() : undefined));
  const work = (children: number) => ({ children, eachMs: -1, window: mounting === 'together' ? children : 0 });
  void update(field.dispatcher, 'big', work(BIG));
  await steps.until(() => steps.wanted.big === BIG);
  if (small === 'cycle') void update(field.dispatcher, 'small', work(SMALL));
  else for (let i = 0; i < SMALL; i++) startKey(field, `file-${i}`);
  // A root run that was granted lists at once: runs of this test take no time but their own.
  while (steps.over.small < SMALL) await steps.endOldest(field, small === 'cycle' ? SMALL : 0);
  expect(steps.over.big).toBeLessThanOrEqual(56);
  expect(steps.over.big, 'the big one had its half').toBeGreaterThanOrEqual(36);
  isOpen = false;
  await field.close();
}

function startKey({ dispatcher }: Field, key: string): void {
  dispatcher.startUpdate({ kind: 'key', source: 'small', key, trigger: 'test', input: { eachMs: -1 } });
}

/** Runs that are no roots of cycles, as the operator hears of them. */
class Steps implements DispatchEvents {
  readonly over = { big: 0, small: 0 };
  readonly wanted = { big: 0, small: 0 };
  readonly #executing: { readonly run: number; readonly runner: string }[] = [];
  #isSmallListing = false;
  #look = () => {};

  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => {
        if (holds()) resolve();
      };
      this.#look();
    });
  }

  /** `smallChildren`: what the small root mounts; it has done so before the next run ends. */
  async endOldest(field: Field, smallChildren: number): Promise<void> {
    const oldest = this.#executing.shift()!;
    const before = this.over.big + this.over.small;
    field.end(oldest.runner, oldest.run);
    await this.until(() => this.over.big + this.over.small > before);
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#isSmallListing) await this.until(() => this.wanted.small === smallChildren);
  }

  requested: NonNullable<DispatchEvents['requested']> = (run) => {
    if (run.kind === 'item') this.wanted[sourceOf(run)]++;
    this.#look();
  };

  granted: NonNullable<DispatchEvents['granted']> = (run, { runner }) => {
    if (run.kind === 'item') this.#executing.push({ run: run.number, runner: runner.split('/')[0]! });
    else if (sourceOf(run) === 'small') this.#isSmallListing = true;
  };

  ended: NonNullable<DispatchEvents['ended']> = (run) => {
    if (run.kind === 'item') this.over[sourceOf(run)]++;
    this.#look();
  };
}

const sourceOf = ({ update: { start } }: RunView): 'big' | 'small' => (start.source === 'big' ? 'big' : 'small');
