// Compares what the state says with what a target holds, both ways, and looks for anything left over.
import { expect } from 'vitest';
import { type StateStore, unpackRows } from '../../runner/execute/index.ts';
import type { MemoryTarget, TestSource } from './world.ts';

export async function audit(state: StateStore, target: MemoryTarget, source: TestSource): Promise<void> {
  const owned = new Map<string, string>();
  const components: string[] = [];
  const walk = async (path: string): Promise<void> => {
    for (const child of await state.children(path, '', 100_000)) {
      components.push(child);
      const [record] = await state.components([child]);
      expect([...(record?.intended ?? [])], `intents of ${child}`).toEqual([]);
      for (const packed of record?.rows.values() ?? []) {
        for (const { id } of unpackRows(packed, target.identity)) owned.set(id, child);
      }
      await walk(child);
    }
  };
  await walk('docs');
  const held = [...target.rows].map(([id, { owner }]) => [id, owner]);
  expect(held.sort(), 'rows of the target and rows that the state knows').toEqual([...owned].sort());
  const items = await state.scanItems({ source: 'docs' }, 0, 100_000);
  expect(items.map(({ key }) => key).sort(), 'items').toEqual([...source.items.keys()].sort());
  expect(
    items.filter(({ status }) => status !== 'ok'),
    'items that are not well',
  ).toEqual([]);
  expect(await state.sizes(), 'nothing left over').toMatchObject({ work: 0, components: components.length });
}
