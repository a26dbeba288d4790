// Cron expressions as Kubernetes CronJobs have them: five fields, or a nickname.
import { Cron } from 'croner';

const number = '[0-9]{1,2}';
const field = (word: string): string => {
  const value = word === '' ? number : `(${number}|${word})`;
  const range = `(\\*|${value}(-${value})?)(/${number})?`;
  return `${range}(,${range})*`;
};
const MONTH = '[A-Za-z]{3}';
const WEEKDAY = '[A-Za-z]{3}';

/** Form of an expression; the CRD can check no more. Values out of range are found by `cronProblem`. */
export const CRON_PATTERN = new RegExp(
  `^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|${[field(''), field(''), field(''), field(MONTH), field(WEEKDAY)].join(' +')})$`,
);

/** What the library puts before its words. */
const LIBRARY = /^Cron\w*: /;

/** Why text is no cron expression with a time to come, or undefined. */
export function cronProblem(expression: string, timeZone: string): string | undefined {
  try {
    const job = new Cron(expression, { timezone: timeZone, paused: true });
    return job.nextRun() === null ? 'never comes true' : undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `is no cron expression: ${why.replace(LIBRARY, '')}`;
  }
}

/** First time after `afterMs` (milliseconds of the epoch) at which the expression is true; undefined: never. */
export function nextCronMs(expression: string, timeZone: string, afterMs: number): number | undefined {
  return new Cron(expression, { timezone: timeZone, paused: true }).nextRun(new Date(afterMs))?.getTime();
}
