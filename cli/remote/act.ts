// Wishes of people: posted to an operator of this machine, written into the objects of a cluster.
import type { KubeConfig } from '@kubernetes/client-node';
import { ANNOTATIONS, GROUP, VERSION } from '../../crds/schema/index.ts';
import type { Action } from '../../operator/api/index.ts';
import { CommandError } from '../exit.ts';
import { ApiClient, pathOf } from './client.ts';
import { kubeConfig, reasonOf } from './cluster.ts';
import { namedPlace, pipelinesOf, print, type RemoteOptions } from './session.ts';

/** Carries out wishes and prints, for each object that one reached, what happened. */
export async function act(actions: readonly Action[], options: RemoteOptions): Promise<void> {
  const says: string[] = [];
  for (const action of actions) says.push(...((await locally(action, options)) ?? (await inCluster(action, options))));
  print(options.output, { says }, () => says.map((line) => `${line}\n`).join(''));
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

interface Named {
  readonly metadata: { readonly name: string; readonly namespace: string };
}

async function inCluster(action: Action, options: RemoteOptions): Promise<string[]> {
  const config = await kubeConfig(options.context);
  if (config === undefined)
    throw new CommandError(
      'nothing serves here and there is no kubeconfig: name files with -f, or the operator with --server, --dir or --context',
    );
  const patch = patchOf(action);
  const plural = action.source === undefined ? 'pipelines' : 'livesources';
  const objects = await objectsOf(config, plural, action.source ?? options.pipeline, options.namespace);
  refuseMany(
    action,
    objects.map(({ metadata }) => metadata.name),
  );
  const says: string[] = [];
  for (const { metadata } of objects) {
    await patched(config, plural, metadata, patch);
    says.push(`${plural.slice(0, -1)} ${metadata.namespace}/${metadata.name}: ${action.action} asked for`);
  }
  return says;
}

function patchOf({ action, allowDeletes }: Action): object {
  if (action === 'suspend' || action === 'resume') return { spec: { suspend: action === 'suspend' } };
  const annotation = {
    refresh: ANNOTATIONS.refresh,
    reprocess: ANNOTATIONS.reprocess,
    'release-quarantined': ANNOTATIONS.retryFailed,
  }[action];
  const now = new Date().toISOString();
  const annotations = { [annotation]: now, ...(allowDeletes === true && { [ANNOTATIONS.allowDeletes]: now }) };
  return { metadata: { annotations } };
}

async function objectsOf(config: KubeConfig, plural: string, name: string | undefined, namespace: string | undefined) {
  const { CustomObjectsApi } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(CustomObjectsApi);
  const where = namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  try {
    const list = await api.listNamespacedCustomObject({ group: GROUP, version: VERSION, namespace: where, plural });
    const found = (list as { items: Named[] }).items.filter(
      ({ metadata }) => name === undefined || metadata.name === name,
    );
    if (found.length > 0) return found;
  } catch (error) {
    throw new CommandError(`the cluster does not list ${plural} of ${where}: ${reasonOf(error)}`);
  }
  throw new CommandError(`there is no ${plural.slice(0, -1)} ${name ?? ''} in namespace ${where}; -n names another`);
}

/** Merges a patch into an object. Throws CommandError where that is not allowed, or there is no such object. */
export async function patched(
  config: KubeConfig,
  plural: string,
  { name, namespace }: Named['metadata'],
  patch: object,
): Promise<void> {
  const { CustomObjectsApi, PatchStrategy, setHeaderOptions } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(CustomObjectsApi);
  const object = { group: GROUP, version: VERSION, namespace, plural, name, body: patch };
  try {
    await api.patchNamespacedCustomObject(object, setHeaderOptions('Content-Type', PatchStrategy.MergePatch));
  } catch (error) {
    throw new CommandError(`${plural.slice(0, -1)} ${namespace}/${name} was not changed: ${reasonOf(error)}`);
  }
}
