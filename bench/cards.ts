// Cards between calls: an operator and a runner process of four cards, TLS on, always more calls than cards. How long a freed share lies idle
// until the next body starts on it, and the part of the cards' time that is lost so. `grants-per-second`
// stands beside what four cards could do at most.
import { CARDS, type CardTime, type CardWork } from './cards/work.ts';
import { type Bench, result } from './report.ts';
import { type Field, openField } from './runs/field.ts';
import { percentile } from './runs/percentile.ts';

const SLOTS = 64;
const FOR_MS = 3_000;
const SOURCE = 'calls';

const WHOLE: CardWork = { calls: 4 * CARDS, milli: 1000, bodyMs: 10, forMs: FOR_MS };
const HALVES: CardWork = { ...WHOLE, calls: 8 * CARDS, milli: 500 };
const LONG: CardWork = { ...WHOLE, bodyMs: 50 };

export const cards: Bench = async () => {
  const field = await openField({
    slotsMax: SLOTS,
    runnerSlots: SLOTS,
    sources: [SOURCE],
    program: new URL('./cards/runner.ts', import.meta.url),
    runners: 1,
  });
  await measure(field, { ...WHOLE, forMs: 500 }); // warm
  const whole = await measure(field, WHOLE);
  const halves = await measure(field, HALVES);
  const long = await measure(field, LONG);
  await field.close();
  return [
    result('freed-to-start-p50-ms', percentile(whole.gapsMs, 50), 'ms'),
    result('freed-to-start-p99-ms', percentile(whole.gapsMs, 99), 'ms'),
    result('freed-to-start-halves-p50-ms', percentile(halves.gapsMs, 50), 'ms'),
    result('card-time-lost-10ms-bodies', lost(whole), 'of 1'),
    result('card-time-lost-halves-10ms-bodies', lost(halves), 'of 1'),
    result('card-time-lost-50ms-bodies', lost(long), 'of 1'),
    result('grants-per-second', (whole.bodies / whole.lastedMs) * 1000, 'grants/s', (CARDS * 1000) / WHOLE.bodyMs),
  ];
};

/** Part of the cards' time in which no body ran. */
const lost = ({ busyMs, lastedMs }: CardTime): number => 1 - busyMs / (CARDS * lastedMs);

function measure({ dispatcher }: Field, work: CardWork): Promise<CardTime> {
  return new Promise((resolve, reject) => {
    dispatcher.startUpdate({
      kind: 'cycle',
      source: SOURCE,
      trigger: 'bench',
      input: work,
      observer: {
        ended: (_, { outcome }) => {
          if (outcome.kind === 'done') resolve(outcome.value as unknown as CardTime);
          else reject(new Error(`the calls ended as ${outcome.kind}`));
        },
      },
    });
  });
}
