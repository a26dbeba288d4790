// Mends what differs between state and targets.
import { pathKeys } from '../../runner/protocol/index.ts';
import type { LocalPipeline } from './pipeline.ts';

/** Items that are mended at the same time. */
const REPAIRS_AT_ONCE = 64;

/** Processes the items again whose components own rows that differ, and removes rows that no item owns. */
export async function mend(pipeline: LocalPipeline, owners: readonly string[]): Promise<void> {
  const { state, targets } = pipeline.assembly.stores;
  const items = new Map<string, { source: string; key: string }>();
  for (const owner of owners) {
    const [source = '', key = ''] = pathKeys(owner);
    const isKnown = pipeline.assembly.sources.has(source) && (await state.item(source, key)) !== undefined;
    if (isKnown) items.set(JSON.stringify([source, key]), { source, key });
    else
      for (const target of targets)
        await target.apply([{ owner, deleteAll: true, upserts: [], touches: [], deletes: [] }]);
  }
  const all = [...items.values()];
  for (let at = 0; at < all.length; at += REPAIRS_AT_ONCE) {
    const some = all.slice(at, at + REPAIRS_AT_ONCE);
    await Promise.all(
      some.map((item) => pipeline.update({ kind: 'key', trigger: 'repair', reprocess: true, ...item })),
    );
  }
}
