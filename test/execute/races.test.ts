// Everything at once, at random, under the real dispatcher and tree: edits, watch events, overlapping cycles, whole-Pipeline updates, cancels,
// restarts. However they interleave, the end equals a clean run, nobody holds a slot and no work is left.
import { expect, test } from 'vitest';
import { StepError } from '../../runner/sdk/index.ts';
import { playRounds, type Random } from './random.ts';
import { Whole } from './whole.ts';
import { EmbedStep, LinesStep, ReadStep, WorkStep } from './world.ts';

const KEYS = Array.from({ length: 12 }, (_, index) => `dir/file-${index}`);
const WORDS = ['one', 'two', 'three', 'four'];

function stepsOf(isNested: boolean, work: WorkStep) {
  return [
    { verb: 'read', step: new ReadStep() },
    { verb: 'lines', step: new LinesStep() },
    { verb: 'embed', step: new EmbedStep() },
    { verb: 'work', step: work },
    ...(isNested
      ? [{ verb: 'forEach' as const, component: { steps: [{ verb: 'export' as const, target: 'rows' }] } }]
      : [{ verb: 'export' as const, target: 'rows' }]),
  ];
}

function act(whole: Whole, random: Random): void {
  const key = random.pick(KEYS);
  const { source, clock } = whole;
  const kind = random.below(10);
  if (kind < 4)
    source.write(key, Array.from({ length: random.below(4) }, () => `text ${random.pick(WORDS)}`).join('\n'));
  else if (kind < 6) source.remove(key);
  else if (kind === 6) whole.triggers.want({ trigger: 'manual' });
  else if (kind === 7) whole.pipeline.want({ trigger: 'edit', reprocess: random.chance(0.5) });
  else if (kind === 8) {
    const open = [...whole.dispatcher.updates.keys()];
    if (open.length > 0) whole.dispatcher.cancelUpdate(random.pick(open), 'cancelled at random');
  }
  if (kind < 6 && random.chance(0.7)) source.watching?.([{ key, kind: 'unknown', seenAtMs: clock.nowMs() }]);
}

async function play(random: Random): Promise<void> {
  const work = new WorkStep();
  const isNested = random.chance(0.5);
  const whole = new Whole({ slots: 1 + random.below(4), mode: 'Watch', steps: stepsOf(isNested, work) });
  const takes = (): number => random.pick([0, 1, 5, 20]);
  work.onCall = async () => {
    await new Promise<void>((resolve) => void whole.clock.after(takes(), resolve));
    if (random.chance(0.1)) throw new StepError('transient', 'try again');
    if (random.chance(0.02)) throw new StepError('transient', 'try much later', { retryAfterMs: 6_000 });
  };
  await whole.start();
  whole.triggers.start();
  for (let moment = 0; moment < 60; moment += 1) {
    act(whole, random);
    if (random.chance(0.5)) await whole.rest();
    if (random.chance(0.5)) whole.clock.advance(random.below(15));
    if (random.chance(0.02)) {
      await whole.restart();
      whole.triggers.start();
    }
  }
  work.onCall = () => {};
  await whole.idle(600_000);
  whole.triggers.want({ trigger: 'last' });
  await whole.idle(600_000);

  const clean = new Whole({ slots: 8, steps: stepsOf(isNested, new WorkStep()) }, whole.source);
  await clean.start();
  clean.triggers.start();
  await clean.idle(10_000);
  expect(await whole.target.scan('', 10_000)).toEqual(await clean.target.scan('', 10_000));
  expect(await whole.texts()).toEqual(await clean.texts());
  const { work: left, items, components } = await whole.state.sizes();
  const wanted = await clean.state.sizes();
  expect({ left, items, components }).toEqual({ left: 0, items: wanted.items, components: wanted.components });
  expect([whole.dispatcher.liveRuns, whole.engine.runsInFlight]).toEqual([1, 1]);
  await whole.state.close();
  await clean.state.close();
}

test('edits, events, cycles, reprocesses, cancels and restarts at random end as a clean run does', async () => {
  await playRounds(Number(process.env.FAIRLEAD_ROUNDS ?? 15), play);
});
