// What a runner holds, as one message.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { CardAskReader, CardAskWriter, CardListReader, CardLists } from './card-codec.ts';
import { censusMessage, censusOf } from './census-codec.ts';
import { ByteColumn, ByteReader, DoubleColumn, DoubleReader } from './columns.ts';
import type { ReportedCard, ReportedRun, RunnerReport } from './link.ts';
import { type Report, ReportSchema } from './link_pb.ts';
import type { MountRequest, RunNumber } from './messages.ts';
import { OutcomeReader, OutcomeWriter } from './outcome-codec.ts';
import { MountReader, MountWriter, StartReader, StartWriter } from './run-codec.ts';
import { traceMessage, tracesByIndex } from './trace-codec.ts';
import { changesMessage, changesOf, progressMessage, progressOf } from './up-codec.ts';

export function encodeReport(report: RunnerReport): Uint8Array {
  const runs = new StartWriter();
  const epochs = new DoubleColumn();
  const mounts = new MountWriter();
  const started = new ByteColumn();
  const ended = new StartWriter();
  const outcomes = new OutcomeWriter();
  for (const { order, mounts: pending } of report.runs) {
    runs.push(order);
    epochs.push(order.token.epoch);
    for (const { request, isStarted } of pending) {
      mounts.push(order.token.run, request);
      started.push(isStarted ? 1 : 0);
    }
  }
  for (const { order, outcome } of report.ended) {
    ended.push(order);
    outcomes.push(outcome);
  }
  const traces = report.ended.flatMap(({ trace }, index) => (trace === undefined ? [] : [traceMessage(index, trace)]));
  const message = create(ReportSchema, {
    runs: runs.take(),
    epochsF64: epochs.take(),
    mounts: mounts.take(),
    mountsStartedU8: started.take(),
    ended: ended.take(),
    endedOutcomes: outcomes.take(),
    progress: report.runs.flatMap(({ order, progress }) =>
      progress === undefined ? [] : [progressMessage(order.token.run, progress)],
    ),
    changes: report.changes.map(({ run, changes }) => changesMessage(run, changes)),
    endedTraces: traces,
    ...cardColumns(report.cards),
    ...(report.census !== undefined && { census: censusMessage(report.census) }),
  });
  return toBinary(ReportSchema, message);
}

/** Throws where the message is malformed. */
export function decodeReport(bytes: Uint8Array): RunnerReport {
  const message = fromBinary(ReportSchema, bytes);
  const progress = new Map(message.progress.map((one) => [one.run, progressOf(one)]));
  const mounts = new Map<RunNumber, { request: MountRequest; isStarted: boolean }[]>();
  const mountReader = new MountReader(message.mounts);
  const started = new ByteReader(message.mountsStartedU8);
  for (let i = 0; i < mountReader.length; i++) {
    const { parent, request } = mountReader.next();
    const siblings = mounts.get(parent) ?? [];
    siblings.push({ request, isStarted: started.next() === 1 });
    mounts.set(parent, siblings);
  }
  const starts = new StartReader(message.runs);
  const epochs = new DoubleReader(message.epochsF64);
  const runs: ReportedRun[] = [];
  for (let i = 0; i < starts.length; i++) {
    const order = starts.next(epochs.next());
    const known = progress.get(order.token.run);
    runs.push({
      order,
      mounts: mounts.get(order.token.run) ?? [],
      ...(known === undefined ? {} : { progress: known }),
    });
  }
  const endedReader = new StartReader(message.ended);
  const outcomes = new OutcomeReader(message.endedOutcomes);
  const traces = tracesByIndex(message.endedTraces);
  const ended = Array.from({ length: endedReader.length }, (_, index) => {
    const trace = traces.get(index);
    return { order: endedReader.next(0), outcome: outcomes.next(), ...(trace === undefined ? {} : { trace }) };
  });
  const changes = message.changes.map((one) => ({ run: one.run, changes: changesOf(one) }));
  const census = message.census && censusOf(message.census);
  return { runs, ended, changes, cards: cardsOf(message), ...(census !== undefined && { census }) };
}

function cardColumns(reported: readonly ReportedCard[]) {
  const asks = new CardAskWriter();
  const lists = new CardLists();
  for (const card of reported) {
    asks.push(card);
    lists.push(card.cards ?? []);
  }
  return {
    cardAsks: asks.take(),
    cardUpdates: reported.map(({ update }) => update),
    cardCountsU8: lists.counts.take(),
    cardsU8: lists.cards.take(),
  };
}

function cardsOf(message: Report): ReportedCard[] {
  const asks = new CardAskReader(message.cardAsks);
  const lists = new CardListReader(message.cardCountsU8, message.cardsU8);
  return Array.from({ length: asks.length }, (_, at): ReportedCard => {
    const ask = asks.next();
    const cards = lists.next();
    return { ...ask, update: message.cardUpdates[at] ?? '', ...(cards.length === 0 ? {} : { cards }) };
  });
}
