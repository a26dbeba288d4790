// Items that people should look at: those that are left alone because they took down too many runners, and those that failed.
import { ANSWER_MAX_BYTES, type TroubledItem, type TroubledPage, type TroubledPlace } from '../protocol/index.ts';
import type { ItemRecord, StateStore } from './ports.ts';

const PAGE = 500;

/** A page of them; the last one of a status leads to the first one of the next. */
export async function troubledPage(
  state: Pick<StateStore, 'scanItems'>,
  { status, id }: TroubledPlace,
): Promise<TroubledPage> {
  const page = await state.scanItems({ status }, id, PAGE);
  const items: TroubledItem[] = [];
  let sizeBytes = 0;
  for (const record of page) {
    const item = troubled(status, record);
    sizeBytes += Buffer.byteLength(JSON.stringify(item));
    if (items.length > 0 && sizeBytes > ANSWER_MAX_BYTES) break;
    items.push(item);
  }
  const next = nextPlace(status, page, items.length);
  return { items, ...(next !== undefined && { next }) };
}

function nextPlace(
  status: TroubledPlace['status'],
  page: readonly ItemRecord[],
  taken: number,
): TroubledPlace | undefined {
  if (taken < page.length || page.length === PAGE) return { status, id: page[taken - 1]!.id };
  return status === 'quarantined' ? { status: 'failed', id: 0 } : undefined;
}

function troubled(
  status: TroubledItem['status'],
  { source, key, failures, losses, error = '' }: ItemRecord,
): TroubledItem {
  return { source, key, status, failures, losses, error };
}
