// Outcomes of runs as columns.

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { ByteColumn, ByteReader, WordColumn, WordReader } from './columns.ts';
import { json, parsedJson } from './json.ts';
import type { OutcomeDetails, Outcomes, RunError as WireError } from './link_pb.ts';
import { OutcomeDetailsSchema, OutcomesSchema, RunErrorSchema } from './link_pb.ts';
import { type Counts, NO_COUNTS, type RunError, type RunOutcome } from './messages.ts';

const KINDS = ['done', 'failed', 'superseded', 'cancelled', 'parked'] as const;

type Details = MessageInitShape<typeof OutcomeDetailsSchema>;

/** All counts, as progress has them. */
export function pushCounts(column: WordColumn, counts: Counts): void {
  for (const name of COUNTS) column.push(counts[name]);
}

export function nextCounts(reader: WordReader): Counts {
  return countsOf(reader, ALL);
}

const COUNTS = ['unchanged', 'added', 'reprocessed', 'deleted', 'failed', 'superseded'] as const;
const ALL = (1 << COUNTS.length) - 1;

/** Those that the mask has, the others are 0. */
function countsOf(reader: WordReader, mask: number): Counts {
  const next = (bit: number) => ((mask & bit) === 0 ? 0 : reader.next());
  return mask === 0
    ? NO_COUNTS
    : {
        unchanged: next(1),
        added: next(2),
        reprocessed: next(4),
        deleted: next(8),
        failed: next(16),
        superseded: next(32),
      };
}

export class OutcomeWriter {
  readonly #kinds = new ByteColumn();
  readonly #counts = new WordColumn();
  readonly #masks = new ByteColumn();
  #details: OutcomeDetails[] = [];

  push(outcome: RunOutcome): void {
    const index = this.#kinds.length;
    this.#kinds.push(KINDS.indexOf(outcome.kind) + 1);
    if (outcome.kind === 'done' || outcome.kind === 'failed') this.#pushCounts(outcome.counts);
    const details = detailsOf(outcome);
    if (details !== undefined) this.#details.push(create(OutcomeDetailsSchema, { ...details, index }));
  }

  take(): Outcomes {
    const details = this.#details;
    this.#details = [];
    return create(OutcomesSchema, {
      kindsU8: this.#kinds.take(),
      countsU32: this.#counts.take(),
      countMasksU8: this.#masks.take(),
      details,
    });
  }

  /** Most outcomes have one count that is not 0, or none. */
  #pushCounts(counts: Counts): void {
    let mask = 0;
    for (let i = 0; i < COUNTS.length; i++) {
      const count = counts[COUNTS[i]!];
      if (count === 0) continue;
      mask |= 1 << i;
      this.#counts.push(count);
    }
    this.#masks.push(mask);
  }
}

export class OutcomeReader {
  readonly #kinds: ByteReader;
  readonly #counts: WordReader;
  readonly #masks: ByteReader;
  readonly #details: Map<number, OutcomeDetails>;
  #index = 0;

  constructor(outcomes: Outcomes | undefined) {
    this.#kinds = new ByteReader(outcomes?.kindsU8 ?? new Uint8Array());
    this.#counts = new WordReader(outcomes?.countsU32 ?? new Uint8Array());
    this.#masks = new ByteReader(outcomes?.countMasksU8 ?? new Uint8Array());
    this.#details = new Map(outcomes?.details.map((details) => [details.index, details]));
  }

  next(): RunOutcome {
    const kind = KINDS[this.#kinds.next() - 1];
    const details = this.#details.size === 0 ? undefined : this.#details.get(this.#index);
    this.#index++;
    switch (kind) {
      case 'done':
        return doneOf(this.#nextCounts(), details);
      case 'failed':
        return { kind, counts: this.#nextCounts(), error: errorOf(details?.error) };
      case 'superseded':
        return { kind };
      case 'cancelled':
        return { kind, why: details?.why ?? '' };
      case 'parked':
        return parkedOf(details);
      default:
        throw new RangeError('the link carried an outcome of an unknown kind');
    }
  }

  #nextCounts(): Counts {
    return countsOf(this.#counts, this.#masks.next());
  }
}

function detailsOf(outcome: RunOutcome): Details | undefined {
  switch (outcome.kind) {
    case 'done': {
      const { value, heldDeletes } = outcome;
      if (value === undefined && heldDeletes === undefined) return undefined;
      return {
        ...(value === undefined ? {} : { valueJson: json(value) }),
        ...(heldDeletes === undefined ? {} : { heldMissing: heldDeletes.missing, heldKnown: heldDeletes.known }),
      };
    }
    case 'failed':
      return { error: wireError(outcome.error) };
    case 'superseded':
      return undefined;
    case 'cancelled':
      return { why: outcome.why };
    case 'parked':
      return {
        resumeAfterMs: outcome.resumeAfterMs,
        error: wireError(outcome.error),
        ...(outcome.resume === undefined ? {} : { resumeJson: json(outcome.resume) }),
      };
  }
}

function doneOf(counts: Counts, details: OutcomeDetails | undefined): RunOutcome {
  if (details === undefined) return { kind: 'done', counts };
  const { valueJson, heldMissing, heldKnown } = details;
  return {
    kind: 'done',
    counts,
    ...(valueJson === undefined ? {} : { value: parsedJson(valueJson) }),
    ...(heldMissing === undefined ? {} : { heldDeletes: { missing: heldMissing, known: heldKnown ?? 0 } }),
  };
}

function parkedOf(details: OutcomeDetails | undefined): RunOutcome {
  const resume = details?.resumeJson;
  return {
    kind: 'parked',
    resumeAfterMs: details?.resumeAfterMs ?? 0,
    error: errorOf(details?.error),
    ...(resume === undefined ? {} : { resume: parsedJson(resume) }),
  };
}

function wireError(error: RunError): WireError {
  return create(RunErrorSchema, {
    class: error.class,
    message: error.message,
    ...(error.step === undefined ? {} : { step: error.step }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}

const CLASSES: readonly string[] = [
  'transient',
  'rate-limited',
  'too-large',
  'invalid',
  'timeout',
  'lost',
  'quarantined',
  'internal',
] satisfies RunError['class'][];

/** A class that this version does not know counts as `internal`. */
function errorOf(error: WireError | undefined): RunError {
  if (error === undefined) return { class: 'internal', message: 'the runner gave no reason' };
  const { message, step, retryAfterMs } = error;
  return {
    class: CLASSES.includes(error.class) ? (error.class as RunError['class']) : 'internal',
    message,
    ...(step === undefined ? {} : { step }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
