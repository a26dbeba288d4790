// How soon a status is written, by what is new in it. Pure: two statuses in, a pace out.
//   now      a condition flipped, a spec was seen, a wish was handled: people and controllers wait for these.
//   soon     what there is to say otherwise: counts, updates, messages, and all figures of an object whose update runs.
//   later    whether work goes on (`Progressing`), while no update shows.
//   seldom   figures of a moment (slots, cards, what waits) of an object in which nothing else happens: they are another in each second.
//   never    times that every idle cycle moves (`checkedAt`, `lastCycleAt`, `nextCycleAt`).
import { canonical, shortHash } from '../../blueprint/index.ts';

/** Any status with conditions; the parts that this room looks at. */
export interface AnyStatus {
  readonly conditions?: readonly AnyCondition[] | undefined;
  readonly handled?: object | undefined;
  readonly observedGeneration?: number | undefined;
}

interface AnyCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export type Pace = 'now' | 'soon' | 'later' | 'seldom';

/** What a status said, by the pace at which news of it are written. Texts and hashes: ten thousand whole statuses stand in the cache already. */
export interface Gist {
  readonly flips: string;
  readonly content: string;
  readonly work: string;
  readonly figures: string;
}

/** Follow the work itself: they flip with every small update. */
const OF_WORK: ReadonlySet<string> = new Set(['Progressing', 'Synced']);

interface Told extends AnyStatus {
  readonly updates?: readonly { readonly result?: string }[];
  readonly slots?: unknown;
  readonly waitingFor?: unknown;
  readonly cards?: unknown;
  readonly freshness?: { readonly oldestChangeAt?: unknown };
  readonly lastCycleAt?: unknown;
  readonly nextCycleAt?: unknown;
}

export function gistOf(status: AnyStatus): Gist {
  const {
    conditions = [],
    slots,
    waitingFor,
    cards,
    freshness,
    lastCycleAt: _,
    nextCycleAt: __,
    ...rest
  } = status as Told;
  const work = conditions.find(({ type }) => type === 'Progressing');
  const others = conditions.filter((condition) => condition !== work).map(({ type, ...of }) => [type, essence(of)]);
  const figures = [slots, waitingFor, cards, freshness?.oldestChangeAt, work && essence(work)];
  const isWorking = rest.updates?.some(({ result }) => result === 'Running') ?? false;
  return {
    flips: canonical([flipsOf(conditions), rest.handled ?? {}, rest.observedGeneration]),
    content: hash([rest, others, isWorking ? figures : 'no update shows']),
    work: work?.status ?? '',
    figures: hash(figures),
  };
}

/** Undefined: there is nothing to write. */
export function paceOf(before: Gist | undefined, now: Gist): Pace | undefined {
  if (before === undefined || before.flips !== now.flips) return 'now';
  if (before.content !== now.content) return 'soon';
  if (before.work !== now.work) return 'later';
  return before.figures === now.figures ? undefined : 'seldom';
}

const flipsOf = (conditions: readonly AnyCondition[]) =>
  conditions.flatMap(({ type, status }) => (OF_WORK.has(type) ? [] : [[type, status]]));

/** Of a condition all but its time. */
const essence = ({ status, reason, message }: Omit<AnyCondition, 'type'>) => [status, reason, message];

const hash = (value: unknown): string => shortHash(value, 16);
