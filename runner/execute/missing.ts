// Items that the state knows and a whole listing did not name (F1).
//
//   D1. An item that was seen after the listing began is not missing: its id is newer than the listing, or its record or work entry is.
//   D2. More than the guard allows are not deleted without consent: it is found out before the first delete is entered. What per-key updates deleted
//       since the last whole listing counts as if it were missing here.
import type { HeldDeletes } from '../protocol/index.ts';
import type { Bitmap } from './bitmap.ts';
import type { Extent, SourcePlan, StateStore } from './ports.ts';

const PAGE = 5_000;

/** A listing that ended without an error. */
export interface WholeListing {
  readonly source: string;
  /** Ids of the items that it named. */
  readonly seen: Bitmap;
  /** How many of `seen` were known when it began. */
  readonly seenKnown: number;
  readonly before: Extent;
  /** When it began, by the store's clock. */
  readonly beganAtMs: number;
  /** Items that went since the last whole listing. */
  readonly deletedBefore: number;
}

/** Keys of missing items, in pages. */
export async function* missingKeys(state: StateStore, listing: WholeListing): AsyncGenerator<readonly string[]> {
  const { source, seen, seenKnown, before, beganAtMs } = listing;
  if (seenKnown === before.items) return;
  for (let after = 0; ; ) {
    const page = await state.scanKeys(source, after, PAGE);
    const missing = page.filter(({ id, seenAtMs }) => id <= before.lastId && seenAtMs < beganAtMs && !seen.has(id));
    if (missing.length > 0) yield missing.map(({ key }) => key);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE || last.id > before.lastId) return;
    after = last.id;
  }
}

/** The deletes that need consent; undefined: go on. */
export async function heldDeletes(
  state: StateStore,
  listing: WholeListing,
  guard: SourcePlan['deleteGuard'],
): Promise<HeldDeletes | undefined> {
  const { before, seenKnown, deletedBefore } = listing;
  const known = before.items + deletedBefore;
  const isTooMany = (missing: number): boolean =>
    missing > deletedBefore && missing > guard.minItems && missing * 100 > guard.maxPercent * known;
  // At most so many can be missing; counting them one by one is for the rare listing where it matters.
  if (!isTooMany(known - seenKnown)) return undefined;
  let missing = deletedBefore;
  for await (const page of missingKeys(state, listing)) missing += page.length;
  return isTooMany(missing) ? { missing, known } : undefined;
}
