// Wishes of people: posted to an operator of this machine, written into the objects of a cluster.
import type { Action } from '../../operator/api/index.ts';
import { CommandError } from '../exit.ts';
import { print } from '../output.ts';
import { ApiClient, pathOf } from './client.ts';
import { namedPlace, pipelinesOf, type RemoteOptions } from './session.ts';

/** Carries out wishes and prints, for each object that one reached, what happened. */
export async function act(actions: readonly Action[], options: RemoteOptions): Promise<void> {
  const says: string[] = [];
  for (const action of actions) says.push(...((await locally(action, options)) ?? (await inCluster(action, options))));
  await print(options.output, { says }, () => says.map((line) => `${line}\n`).join(''));
}

/** The same wish for each of these live sources; for the whole Pipeline, where none is named. */
export const forEach = (sources: readonly string[], action: Omit<Action, 'source'>): Action[] =>
  sources.length === 0 ? [action] : sources.map((source) => ({ ...action, source }));

async function locally(action: Action, options: RemoteOptions): Promise<string[] | undefined> {
  const place = namedPlace(options);
  if (place === undefined) return undefined;
  const client = new ApiClient(place);
  const pipelines = await pipelinesOf(client, options);
  const meant = action.source === undefined ? pipelines : pipelines.filter((one) => hasSource(one, action.source!));
  if (meant.length === 0) throw new CommandError(`no Pipeline has a LiveSource ${action.source}`);
  refuseMany(
    action,
    meant.map(({ name }) => name),
  );
  const answers = meant.map(({ name }) => client.post<{ says: string }>(pathOf(name, '/actions'), action));
  return (await Promise.all(answers)).map(({ says }) => says);
}

const hasSource = ({ sources }: { sources: readonly { name: string }[] }, name: string): boolean =>
  sources.some((source) => source.name === name);

/** Stopping work must name what it means. */
function refuseMany({ action, source }: Action, pipelines: readonly string[]): void {
  if ((action === 'suspend' || action === 'resume') && source === undefined && pipelines.length > 1)
    throw new CommandError(`there are several Pipelines: ${pipelines.join(', ')}; name one with --pipeline`);
}

/** Its code is loaded when a cluster is asked: what an operator of this machine is asked starts fast. */
async function inCluster(action: Action, options: RemoteOptions): Promise<string[]> {
  const { writeWish } = await import('./wishes.ts');
  return writeWish(action, options, (names) => refuseMany(action, names));
}
