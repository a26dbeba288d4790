// Which epoch a store is opened with. Its own epochs only grow; a commit of an older one than the newest writes nothing (C1).
//   P1. Operators count theirs elsewhere (a Lease, a folder), where nobody knows of a process that worked without an operator, nor of an operator
//       that was here before a new installation. So an operator's epochs are shifted above what the store has seen then.
//   P2. The shift stays for as long as operators follow each other: a newer leader is above an older one, and all runners of one leader write at one epoch.
//   P3. An epoch below the newest is let in, shifted anew, only while nobody works on the state: else it is that of a leader who was replaced.

/** What a store remembers of epochs. */
export interface Epochs {
  /** The newest one. */
  readonly epoch: number;
  /** What is added to an operator's epoch; absent: whoever opened the store last had no operator, or nobody has yet. */
  readonly shift?: number;
}

/** The epochs after an opening; undefined: it is refused (P3). `next`: by a process without an operator. */
export function claimed(wanted: number | 'next', seen: Epochs, isAlone: boolean): Epochs | undefined {
  if (wanted === 'next') return { epoch: seen.epoch + 1 };
  const aboveAll = seen.epoch + 1 - wanted;
  const shift = seen.shift ?? Math.max(0, aboveAll);
  if (wanted + shift >= seen.epoch) return { epoch: wanted + shift, shift };
  return isAlone ? { epoch: seen.epoch + 1, shift: aboveAll } : undefined;
}
