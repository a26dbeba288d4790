// What becomes of work that is offered: rules W1 to W5 of the port, one for every store.
import type { Commit, NewWork } from '../execute/index.ts';

/** The entry of the same key that is there. */
export interface Entry {
  readonly isDelete: boolean;
  readonly version: string;
  readonly reprocess: boolean;
  readonly seenAtMs: number;
}

/** What takes an entry off. */
export type Settled = Pick<Commit, 'path' | 'settlesSeq'> & { readonly settles: string };

export type Decision = 'enter' | 'takeOver' | 'known' | 'older';

/** `itemSeenAtMs`: when the item was last seen; undefined: the state does not know it. Only deletes look at it. */
export function decide(offer: NewWork, there: Entry | undefined, itemSeenAtMs: number | undefined): Decision {
  if (offer.action === 'delete') {
    if (itemSeenAtMs === undefined && there === undefined) return 'known';
    if (itemSeenAtMs !== undefined && offer.seenAtMs <= itemSeenAtMs) return 'older';
  }
  if (there === undefined) return 'enter';
  if (isSame(there, offer)) return 'known';
  return offer.seenAtMs < there.seenAtMs ? 'older' : 'takeOver';
}

/** W2: the same action and version, and no more of `reprocess` than is wanted already. */
function isSame(there: Entry, offer: NewWork): boolean {
  const isSameAction = there.isDelete === (offer.action === 'delete');
  return isSameAction && there.version === offer.version && (there.reprocess || !offer.reprocess);
}
