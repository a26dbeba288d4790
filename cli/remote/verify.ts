// `fairlead verify` where an operator has the Pipelines: its runners compare state and targets, and mend what differs.
import type { PipelineView } from '../../operator/api/index.ts';
import type { Repaired, Verified } from '../../runner/protocol/index.ts';
import { CommandError } from '../exit.ts';
import { type ApiClient, pathOf } from './client.ts';
import { partsOf, pipelinesOf, type RemoteOptions, withOperator } from './session.ts';

export interface VerifyOptions extends RemoteOptions {
  readonly repair?: boolean;
}

/** What was found in each Pipeline; after a repair, what is left. */
export function verifyRemotely(options: VerifyOptions): Promise<{ name: string; found: Verified | Repaired }[]> {
  return withOperator(options, async (client) => {
    const all: { name: string; found: Verified | Repaired }[] = [];
    for (const { name } of await pipelinesOf(client, options)) {
      const found = options.repair === true ? await repaired(client, name, options) : await verified(client, name);
      all.push({ name, found });
    }
    return all;
  });
}

const verified = (client: ApiClient, name: string): Promise<Verified> => client.ask(pathOf(name, '/verify'));

async function repaired(client: ApiClient, name: string, options: RemoteOptions): Promise<Verified | Repaired> {
  const { takesActions } = await client.get<{ takesActions: boolean }>('/api/v1');
  return takesActions ? client.ask<Repaired>(pathOf(name, '/repair'), true) : repairedInCluster(client, name, options);
}

/** In a cluster the wish is written into the object, where the API server looks who may; the rest is to wait for the update that it makes. */
async function repairedInCluster(client: ApiClient, name: string, { context }: RemoteOptions): Promise<Repaired> {
  const before = await verified(client, name);
  if (before.missing + before.surplus === 0) return { ...before, repaired: 0 };
  const known = new Set((await repairsOf(client, name)).map((update) => update.name));
  const { wishRepair } = await import('./wishes.ts');
  await wishRepair(context, partsOf(name));
  await repairEnded(client, name, known);
  const mended = new Set(before.differences.map(({ owner }) => owner)).size;
  return { ...(await verified(client, name)), repaired: mended };
}

type Update = PipelineView['updates'][number];

async function repairsOf(client: ApiClient, name: string): Promise<Update[]> {
  const { updates } = await client.get<{ updates: Update[] }>(pathOf(name, '/updates'));
  return updates.filter(({ trigger }) => trigger === 'repair');
}

/** The overview's events come when something changes: so the operator is asked no more often than that. */
async function repairEnded(client: ApiClient, name: string, known: ReadonlySet<string>): Promise<void> {
  const heard = new AbortController();
  try {
    for await (const _ of client.events('/api/v1/events', heard.signal)) {
      const mine = (await repairsOf(client, name)).find((update) => !known.has(update.name));
      if (mine !== undefined && mine.result !== 'Running') return;
    }
  } finally {
    heard.abort();
  }
  throw new CommandError(`${name}: the operator ended while it repaired; fairlead updates tells what became of it`);
}
