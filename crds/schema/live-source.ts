// LiveSource: what to watch and when; it feeds one Pipeline of its namespace.
import { z } from 'zod';
import { CRON_PATTERN } from './cron.ts';
import { choice, duration, flag, int, name, object, worded } from './fields.ts';
import { API_VERSION } from './group.ts';
import { metadata } from './metadata.ts';
import { and, has, implies, is, not, or, type Rule, same } from './rules.ts';
import { source } from './sources.ts';
import { liveSourceStatus } from './status.ts';
import { limits } from './steps.ts';

const pipelineRef = object(
  'Pipeline that the items are fed to. Cannot be changed: make another LiveSource.',
  { name: name('Name of a Pipeline in the same namespace.') },
  {
    holds: same('self', 'oldSelf'),
    message: 'pipelineRef cannot be changed: make another LiveSource',
    reason: 'FieldValueForbidden',
  },
);

const deleteGuard = object(
  'Stops a cycle, before its first delete, that would delete more than both bounds; it goes on after consent (annotation fairlead.dev/allow-deletes). Absent: 50 percent and 20 items.',
  {
    maxPercent: int(
      'Part of the known items that a cycle may delete, in percent. 100: no guard. Default 50.',
      0,
      100,
    ).default(50),
    minItems: int(
      'Deletes up to this number never stop a cycle. In mode Watch as many are done as they are seen, from one cycle to the next; a cycle does the others. Default 20.',
      0,
      1_000_000_000,
    ).default(20),
  },
).default({ maxPercent: 50, minItems: 20 });

const REFRESH_NEEDS_A_TIME: Rule = {
  holds: or(is('self.mode', 'Watch'), has('self.interval'), has('self.cron')),
  message: 'mode Refresh needs interval or cron',
  fieldPath: '.interval',
  reason: 'FieldValueRequired',
};

const ONE_TIME: Rule = {
  holds: not(and(has('self.interval'), has('self.cron'))),
  message: 'only one of interval and cron can be set',
  fieldPath: '.cron',
};

const PUSH_IS_WATCHED: Rule = {
  holds: implies(has('self.source.push'), is('self.mode', 'Watch')),
  message: 'source.push needs mode: Watch',
  fieldPath: '.mode',
};

const SOME_CANNOT_BE_WATCHED: Rule = {
  holds: implies(is('self.mode', 'Watch'), not(or(has('self.source.s3'), has('self.source.http')))),
  message: 'source.s3 and source.http cannot be watched: use mode: Refresh',
  fieldPath: '.mode',
};

const ZONE_IS_FOR_CRON: Rule = {
  holds: implies(has('self.timeZone'), has('self.cron')),
  message: 'timeZone is only for cron',
  fieldPath: '.timeZone',
};

export const liveSourceSpec = object(
  'What to watch and when.',
  {
    pipelineRef,
    source,
    mode: choice(
      'Refresh: cycles on an interval or cron. Watch: an update per key as changes arrive, with full cycles as a net. Default Refresh.',
      'Refresh',
      'Watch',
    ).default('Refresh'),
    interval: duration(
      'Refresh: time from the start of a cycle to the start of the next. Go duration. Absent: cron says when.',
      '1s',
      '8760h',
    ).optional(),
    cron: worded(
      'Refresh: when cycles start, five fields as in a CronJob, or @hourly and its like. Absent: interval says when.',
      100,
      CRON_PATTERN,
      'must be a cron expression: five fields (minute, hour, day of month, month, day of week), or @hourly and its like',
    ).optional(),
    timeZone: worded(
      'Time zone of cron, such as Europe/Berlin. Absent: UTC.',
      64,
      /^[A-Za-z][-A-Za-z0-9_+/]*$/,
      'must be a time zone, such as Europe/Berlin',
    ).optional(),
    resync: duration(
      'Watch: time between full cycles, the net under the events. Go duration, default 1h.',
      '10s',
      '8760h',
    ).default('1h'),
    weight: int('Share of slots among the live sources of a Pipeline that wait. Default 1.', 1, 1000).default(1),
    deleteGuard,
    limits: limits('the LiveSource'),
    suspend: flag('Starts no new update; what runs ends. Default false.'),
  },
  REFRESH_NEEDS_A_TIME,
  ONE_TIME,
  PUSH_IS_WATCHED,
  SOME_CANNOT_BE_WATCHED,
  ZONE_IS_FOR_CRON,
);

export const liveSource = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('LiveSource'),
  metadata,
  spec: liveSourceSpec,
  status: liveSourceStatus.optional(),
});

/** A LiveSource as it is after parsing: defaults are filled in, quantities and durations stand as they were written. */
export type LiveSource = z.infer<typeof liveSource>;
/** A LiveSource as users write it. */
export type LiveSourceInput = z.input<typeof liveSource>;
export type LiveSourceSpec = LiveSource['spec'];
