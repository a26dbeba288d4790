// What an operator says, as batches: a writer that stands in for the runner, and a reader that calls the real one.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { CardGrantReader, CardGrantWriter } from './card-codec.ts';
import { ByteColumn, ByteReader, DoubleColumn, DoubleReader, WordColumn, WordReader } from './columns.ts';
import type { Runner } from './link.ts';
import { DownBatchSchema } from './link_pb.ts';
import type { CardGrant, FencingToken, RunNumber, RunOrder, RunOutcome } from './messages.ts';
import { OutcomeReader, OutcomeWriter } from './outcome-codec.ts';
import { StartReader, StartWriter } from './run-codec.ts';

/** Codes of `DownBatch.order_u8`. */
const START = 1;
const CANCEL = 2;
const RENEWED = 3;
const MOUNT_STARTED = 4;
const MOUNT_ENDED = 5;
const CARD_GRANTED = 6;
const CARD_REFUSED = 7;
const START_MOUNTED = 8;

/** Collects calls until they are taken as one batch. All tokens are of the operator's epoch. */
export class DownWriter implements LinkedRunner {
  readonly #epoch: number;
  readonly #order = new ByteColumn();
  readonly #starts = new StartWriter();
  readonly #mountedRuns = new DoubleColumn();
  readonly #mountedAttempts = new WordColumn();
  readonly #mountedParents = new DoubleColumn();
  readonly #mountedMounts = new WordColumn();
  readonly #cancelRuns = new DoubleColumn();
  #cancelWhys: string[] = [];
  readonly #renewedRuns = new DoubleColumn();
  readonly #renewedAttempts = new WordColumn();
  readonly #startedParents = new DoubleColumn();
  readonly #startedMounts = new WordColumn();
  readonly #endedParents = new DoubleColumn();
  readonly #endedMounts = new WordColumn();
  readonly #endedOutcomes = new OutcomeWriter();
  readonly #cardGrants = new CardGrantWriter();
  readonly #refusedRuns = new DoubleColumn();
  readonly #refusedAsks = new WordColumn();
  #refusedWhys: string[] = [];

  constructor(epoch: number) {
    this.#epoch = epoch;
  }

  /** Messages that wait to be taken. */
  get length(): number {
    return this.#order.length;
  }

  start(order: RunOrder): void {
    this.#order.push(START);
    this.#starts.push(order);
  }

  startMounted({ run, attempt }: FencingToken, parent: RunNumber, mount: number): void {
    this.#order.push(START_MOUNTED);
    this.#mountedRuns.push(run);
    this.#mountedAttempts.push(attempt);
    this.#mountedParents.push(parent);
    this.#mountedMounts.push(mount);
  }

  cancel(run: RunNumber, why: string): void {
    this.#order.push(CANCEL);
    this.#cancelRuns.push(run);
    this.#cancelWhys.push(why);
  }

  renewed(run: RunNumber, token: FencingToken): void {
    this.#order.push(RENEWED);
    this.#renewedRuns.push(run);
    this.#renewedAttempts.push(token.attempt);
  }

  mountStarted(parent: RunNumber, mount: number): void {
    this.#order.push(MOUNT_STARTED);
    this.#startedParents.push(parent);
    this.#startedMounts.push(mount);
  }

  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    this.#order.push(MOUNT_ENDED);
    this.#endedParents.push(parent);
    this.#endedMounts.push(mount);
    this.#endedOutcomes.push(outcome);
  }

  cardGranted(run: RunNumber, ask: number, grant: CardGrant): void {
    this.#order.push(CARD_GRANTED);
    this.#cardGrants.push(run, ask, grant);
  }

  cardRefused(run: RunNumber, ask: number, why: string): void {
    this.#order.push(CARD_REFUSED);
    this.#refusedRuns.push(run);
    this.#refusedAsks.push(ask);
    this.#refusedWhys.push(why);
  }

  take(): Uint8Array {
    const batch = create(DownBatchSchema, {
      epoch: this.#epoch,
      orderU8: this.#order.take(),
      starts: this.#starts.take(),
      cancelRunsF64: this.#cancelRuns.take(),
      cancelWhys: this.#cancelWhys,
      renewedRunsF64: this.#renewedRuns.take(),
      renewedAttemptsU32: this.#renewedAttempts.take(),
      startedParentsF64: this.#startedParents.take(),
      startedMountsU32: this.#startedMounts.take(),
      endedParentsF64: this.#endedParents.take(),
      endedMountsU32: this.#endedMounts.take(),
      endedOutcomes: this.#endedOutcomes.take(),
      cardGrants: this.#cardGrants.take(),
      refusedRunsF64: this.#refusedRuns.take(),
      refusedAsksU32: this.#refusedAsks.take(),
      refusedWhys: this.#refusedWhys,
      mountedRunsF64: this.#mountedRuns.take(),
      mountedAttemptsU32: this.#mountedAttempts.take(),
      mountedParentsF64: this.#mountedParents.take(),
      mountedMountsU32: this.#mountedMounts.take(),
    });
    this.#cancelWhys = [];
    this.#refusedWhys = [];
    return toBinary(DownBatchSchema, batch);
  }
}

/** A runner at its end of the link. */
export type LinkedRunner = Runner & Required<Pick<Runner, 'startMounted'>>;

/** Calls `runner` for each message of a batch, in order. Throws where the batch is malformed. */
export function deliverDown(bytes: Uint8Array, runner: LinkedRunner): void {
  const batch = fromBinary(DownBatchSchema, bytes);
  const { epoch } = batch;
  const order = new ByteReader(batch.orderU8);
  const starts = new StartReader(batch.starts);
  const cancelRuns = new DoubleReader(batch.cancelRunsF64);
  const renewedRuns = new DoubleReader(batch.renewedRunsF64);
  const renewedAttempts = new WordReader(batch.renewedAttemptsU32);
  const startedParents = new DoubleReader(batch.startedParentsF64);
  const startedMounts = new WordReader(batch.startedMountsU32);
  const endedParents = new DoubleReader(batch.endedParentsF64);
  const endedMounts = new WordReader(batch.endedMountsU32);
  const endedOutcomes = new OutcomeReader(batch.endedOutcomes);
  const cardGrants = new CardGrantReader(batch.cardGrants);
  const refusedRuns = new DoubleReader(batch.refusedRunsF64);
  const refusedAsks = new WordReader(batch.refusedAsksU32);
  const refusedWhys = batch.refusedWhys.values();
  const mountedRuns = new DoubleReader(batch.mountedRunsF64);
  const mountedAttempts = new WordReader(batch.mountedAttemptsU32);
  const mountedParents = new DoubleReader(batch.mountedParentsF64);
  const mountedMounts = new WordReader(batch.mountedMountsU32);
  let cancels = 0;
  while (!order.isDone) {
    const kind = order.next();
    if (kind === START_MOUNTED) {
      const token = { epoch, run: mountedRuns.next(), attempt: mountedAttempts.next() };
      runner.startMounted(token, mountedParents.next(), mountedMounts.next());
    } else if (kind === START) runner.start(starts.next(epoch));
    else if (kind === CANCEL) runner.cancel(cancelRuns.next(), batch.cancelWhys[cancels++] ?? '');
    else if (kind === RENEWED) {
      const run = renewedRuns.next();
      runner.renewed(run, { epoch, run, attempt: renewedAttempts.next() });
    } else if (kind === MOUNT_STARTED) runner.mountStarted(startedParents.next(), startedMounts.next());
    else if (kind === MOUNT_ENDED) runner.mountEnded(endedParents.next(), endedMounts.next(), endedOutcomes.next());
    else if (kind === CARD_GRANTED) {
      const { run, ask, grant } = cardGrants.next();
      runner.cardGranted(run, ask, grant);
    } else if (kind === CARD_REFUSED) {
      runner.cardRefused(refusedRuns.next(), refusedAsks.next(), refusedWhys.next().value ?? '');
    } else throw new RangeError(`the link carried a message of the unknown kind ${kind}`);
  }
}
