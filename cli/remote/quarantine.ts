// Items of an operator's Pipelines that are left alone or failed: its runners read them from the state, page by page.
import type { TroubledItem, TroubledPage } from '../../runner/protocol/index.ts';
import { type ApiClient, pathOf } from './client.ts';
import { pipelinesOf, type RemoteOptions, withOperator } from './session.ts';

export function troubledRemotely(
  options: RemoteOptions,
): Promise<{ readonly name: string; readonly items: readonly TroubledItem[] }[]> {
  return withOperator(options, async (client) => {
    const all: { name: string; items: readonly TroubledItem[] }[] = [];
    for (const { name } of await pipelinesOf(client, options)) all.push({ name, items: await itemsOf(client, name) });
    return all;
  });
}

async function itemsOf(client: ApiClient, pipeline: string): Promise<TroubledItem[]> {
  const items: TroubledItem[] = [];
  for (let after = ''; ; ) {
    const { items: more, next } = await client.ask<TroubledPage>(pathOf(pipeline, `/troubled${after}`));
    items.push(...more);
    if (next === undefined) return items;
    after = `?status=${next.status}&id=${next.id}`;
  }
}
