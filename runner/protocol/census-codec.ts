// What the state holds, as a message.
import { create } from '@bufbuild/protobuf';
import { DoubleColumn, DoubleReader } from './columns.ts';
import { CensusSchema, type Census as WireCensus } from './link_pb.ts';
import type { Census } from './messages.ts';

export function censusMessage({ atMs, sources }: Census): WireCensus {
  const counts = new DoubleColumn();
  for (const { total, failed, quarantined } of sources)
    for (const count of [total, failed, quarantined]) counts.push(count);
  return create(CensusSchema, { atMs, sources: sources.map(({ source }) => source), countsF64: counts.take() });
}

/** Throws where the message is malformed. */
export function censusOf({ atMs, sources, countsF64 }: WireCensus): Census {
  const counts = new DoubleReader(countsF64);
  const held = sources.map((source) => ({
    source,
    total: counts.next(),
    failed: counts.next(),
    quarantined: counts.next(),
  }));
  return { atMs, sources: held };
}
