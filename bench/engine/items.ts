// Items that exist only as keys and versions.
import type { ListedItem, Source } from '../../runner/execute/index.ts';

const BATCH = 1_000;

/** Keys as a listing of a large repository gives them: by folder. */
export const itemAt = (index: number): ListedItem => ({
  key: `part${String(index >> 9).padStart(4, '0')}/item-${String(index).padStart(7, '0')}`,
  version: '1',
});

/** A source that lists so many of them and has no content. */
export function versionedItems(count: number): Source {
  return {
    async *list() {
      for (let at = 0; at < count; at += BATCH) {
        yield Array.from({ length: Math.min(BATCH, count - at) }, (_, index) => itemAt(at + index));
      }
    },
    stat: async (key) => ({ key, version: '1' }),
    read: async () => ({ version: '1', bytes: new Uint8Array() }),
    close: async () => {},
  };
}
