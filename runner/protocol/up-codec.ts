// What a runner says, as batches: a writer that stands in for the dispatcher, and a reader that calls the real one.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { CardAskReader, CardAskWriter } from './card-codec.ts';
import { censusMessage, censusOf } from './census-codec.ts';
import { ByteColumn, ByteReader, DoubleColumn, DoubleReader, WordColumn, WordReader } from './columns.ts';
import type { UpdateProgress, Uplink } from './link.ts';
import {
  type Changes,
  type Changes_Cause,
  Changes_CauseSchema,
  ChangesSchema,
  type Progress,
  ProgressSchema,
  type Stats,
  type TookOver,
  TookOverSchema,
  UpBatchSchema,
  type Census as WireCensus,
  type RunTrace as WireTrace,
} from './link_pb.ts';
import type {
  Census,
  ComponentPath,
  MountRequest,
  RunNumber,
  RunnerStats,
  RunOutcome,
  RunTrace,
  SourceChange,
} from './messages.ts';
import { nextCounts, OutcomeReader, OutcomeWriter, pushCounts } from './outcome-codec.ts';
import { MountReader, MountWriter } from './run-codec.ts';
import { statsMessage, statsOf, traceMessage, tracesByIndex } from './trace-codec.ts';

/** Codes of `UpBatch.order_u8`. */
const MOUNT = 1;
const UNMOUNT = 2;
const EXITED = 3;
const PROGRESS = 4;
const TOOK_OVER = 5;
const CHANGED = 6;
const MEASURED = 7;
const ASK_CARD = 8;
const CARD_RETURNED = 9;
const COUNTED = 10;

/** Collects calls until they are taken as one batch. */
export class UpWriter implements Uplink {
  readonly #order = new ByteColumn();
  readonly #mounts = new MountWriter();
  readonly #unmountParents = new DoubleColumn();
  readonly #unmountMounts = new WordColumn();
  readonly #exitRuns = new DoubleColumn();
  readonly #exitOutcomes = new OutcomeWriter();
  #progress: Progress[] = [];
  #tookOver: TookOver[] = [];
  #changes: Changes[] = [];
  #exits = 0;
  #traces: WireTrace[] = [];
  #stats: Stats[] = [];
  #censuses: WireCensus[] = [];
  readonly #cardAsks = new CardAskWriter();
  readonly #returnRuns = new DoubleColumn();
  readonly #returnAsks = new WordColumn();
  readonly #returnBodyMs = new WordColumn();

  /** Messages that wait to be taken. */
  get length(): number {
    return this.#order.length;
  }

  mount(parent: RunNumber, request: MountRequest): void {
    this.#order.push(MOUNT);
    this.#mounts.push(parent, request);
  }

  unmount(parent: RunNumber, mount: number): void {
    this.#order.push(UNMOUNT);
    this.#unmountParents.push(parent);
    this.#unmountMounts.push(mount);
  }

  exited(run: RunNumber, outcome: RunOutcome, trace?: RunTrace): void {
    this.#order.push(EXITED);
    this.#exitRuns.push(run);
    this.#exitOutcomes.push(outcome);
    if (trace !== undefined) this.#traces.push(traceMessage(this.#exits, trace));
    this.#exits++;
  }

  progress(run: RunNumber, progress: UpdateProgress): void {
    this.#order.push(PROGRESS);
    this.#progress.push(progressMessage(run, progress));
  }

  tookOver(run: RunNumber, from: string, paths: readonly ComponentPath[]): void {
    this.#order.push(TOOK_OVER);
    this.#tookOver.push(create(TookOverSchema, { run, fromUpdate: from, paths: [...paths] }));
  }

  changed(run: RunNumber, changes: readonly SourceChange[]): void {
    this.#order.push(CHANGED);
    this.#changes.push(changesMessage(run, changes));
  }

  measured(stats: RunnerStats): void {
    this.#order.push(MEASURED);
    this.#stats.push(statsMessage(stats));
  }

  counted(census: Census): void {
    this.#order.push(COUNTED);
    this.#censuses.push(censusMessage(census));
  }

  askCard(run: RunNumber, ask: number, milli: number): void {
    this.#order.push(ASK_CARD);
    this.#cardAsks.push({ run, ask, milli });
  }

  cardReturned(run: RunNumber, ask: number, bodyMs: number): void {
    this.#order.push(CARD_RETURNED);
    this.#returnRuns.push(run);
    this.#returnAsks.push(ask);
    this.#returnBodyMs.push(Math.round(bodyMs));
  }

  take(): Uint8Array {
    const batch = create(UpBatchSchema, {
      orderU8: this.#order.take(),
      mounts: this.#mounts.take(),
      unmountParentsF64: this.#unmountParents.take(),
      unmountMountsU32: this.#unmountMounts.take(),
      exitRunsF64: this.#exitRuns.take(),
      exitOutcomes: this.#exitOutcomes.take(),
      progress: this.#progress,
      tookOver: this.#tookOver,
      changes: this.#changes,
      exitTraces: this.#traces,
      stats: this.#stats,
      cardAsks: this.#cardAsks.take(),
      returnRunsF64: this.#returnRuns.take(),
      returnAsksU32: this.#returnAsks.take(),
      returnBodyMsU32: this.#returnBodyMs.take(),
      censuses: this.#censuses,
    });
    this.#progress = [];
    this.#tookOver = [];
    this.#changes = [];
    this.#exits = 0;
    this.#traces = [];
    this.#stats = [];
    this.#censuses = [];
    return toBinary(UpBatchSchema, batch);
  }
}

/** Calls `uplink` for each message of a batch, in order. Throws where the batch is malformed. */
export function deliverUp(bytes: Uint8Array, uplink: Uplink): void {
  const batch = fromBinary(UpBatchSchema, bytes);
  const order = new ByteReader(batch.orderU8);
  const mounts = new MountReader(batch.mounts);
  const unmountParents = new DoubleReader(batch.unmountParentsF64);
  const unmountMounts = new WordReader(batch.unmountMountsU32);
  const exitRuns = new DoubleReader(batch.exitRunsF64);
  const exitOutcomes = new OutcomeReader(batch.exitOutcomes);
  const progress = batch.progress.values();
  const tookOver = batch.tookOver.values();
  const changes = batch.changes.values();
  const traces = tracesByIndex(batch.exitTraces);
  const stats = batch.stats.values();
  const censuses = batch.censuses.values();
  let exits = 0;
  const cardAsks = new CardAskReader(batch.cardAsks);
  const returnRuns = new DoubleReader(batch.returnRunsF64);
  const returnAsks = new WordReader(batch.returnAsksU32);
  const returnBodyMs = new WordReader(batch.returnBodyMsU32);
  while (!order.isDone) {
    const kind = order.next();
    if (kind === MOUNT) {
      const { parent, request } = mounts.next();
      uplink.mount(parent, request);
    } else if (kind === UNMOUNT) uplink.unmount(unmountParents.next(), unmountMounts.next());
    else if (kind === EXITED) uplink.exited(exitRuns.next(), exitOutcomes.next(), traces.get(exits++));
    else if (kind === PROGRESS) {
      const message = nextOf(progress);
      uplink.progress(message.run, progressOf(message));
    } else if (kind === TOOK_OVER) {
      const { run, fromUpdate, paths } = nextOf(tookOver);
      uplink.tookOver(run, fromUpdate, paths);
    } else if (kind === CHANGED) {
      const message = nextOf(changes);
      uplink.changed(message.run, changesOf(message));
    } else if (kind === MEASURED) uplink.measured?.(statsOf(nextOf(stats)));
    else if (kind === COUNTED) uplink.counted?.(censusOf(nextOf(censuses)));
    else if (kind === ASK_CARD) {
      const { run, ask, milli } = cardAsks.next();
      uplink.askCard(run, ask, milli);
    } else if (kind === CARD_RETURNED) {
      uplink.cardReturned(returnRuns.next(), returnAsks.next(), returnBodyMs.next());
    } else throw new RangeError(`the link carried a message of the unknown kind ${kind}`);
  }
}

function nextOf<T>(messages: Iterator<T>): T {
  const { value, done } = messages.next();
  if (done === true) throw new RangeError('a batch of the link holds fewer messages than its order says');
  return value;
}

export function progressMessage(run: RunNumber, progress: UpdateProgress): Progress {
  const counts = new WordColumn();
  pushCounts(counts, progress.counts);
  const { listed, total, done } = progress;
  return create(ProgressSchema, { run, listed, total, done, countsU32: counts.take() });
}

export function progressOf(message: Progress): UpdateProgress {
  const { listed, total, done } = message;
  return { listed, total, done, counts: nextCounts(new WordReader(message.countsU32)) };
}

const CHANGE_KINDS = ['changed', 'removed', 'unknown', 'rescan'] as const;

export function changesMessage(run: RunNumber, changes: readonly SourceChange[]): Changes {
  const kinds = new ByteColumn();
  const seen = new DoubleColumn();
  for (const { kind, seenAtMs } of changes) {
    kinds.push(CHANGE_KINDS.indexOf(kind) + 1);
    seen.push(seenAtMs);
  }
  return create(ChangesSchema, {
    run,
    keys: changes.map(({ key }) => key),
    kindsU8: kinds.take(),
    seenAtMsF64: seen.take(),
    causes: changes.flatMap(causeMessage),
  });
}

function causeMessage({ revision, traceparent }: SourceChange, index: number): Changes_Cause[] {
  if (revision === undefined && traceparent === undefined) return [];
  const cause = {
    index,
    ...(revision === undefined ? {} : { revision }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  return [create(Changes_CauseSchema, cause)];
}

/** A kind that this version does not know is looked at: `unknown`. */
export function changesOf(message: Changes): SourceChange[] {
  const kinds = new ByteReader(message.kindsU8);
  const seen = new DoubleReader(message.seenAtMsF64);
  const changes: Draft<SourceChange>[] = message.keys.map((key) => ({
    key,
    kind: CHANGE_KINDS[kinds.next() - 1] ?? 'unknown',
    seenAtMs: seen.next(),
  }));
  for (const { index, revision, traceparent } of message.causes) {
    const change = changes[index];
    if (change === undefined) continue;
    if (revision !== undefined) change.revision = revision;
    if (traceparent !== undefined) change.traceparent = traceparent;
  }
  return changes;
}

type Draft<T> = { -readonly [K in keyof T]: T[K] };
