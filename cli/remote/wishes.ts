// Wishes as the objects of a cluster hold them: annotations, and fields of the spec. The API server looks who may.
import type { KubeConfig } from '@kubernetes/client-node';
import { ANNOTATIONS, GROUP, VERSION } from '../../crds/schema/index.ts';
import type { Action } from '../../operator/api/index.ts';
import { CommandError } from '../exit.ts';
import { kubeConfig, reasonOf } from './cluster.ts';
import type { RemoteOptions } from './session.ts';

interface Named {
  readonly name: string;
  readonly namespace: string;
}

/** Writes a wish into the objects that it is for, once `agreed` has taken their names, and says what was asked of each. */
export async function writeWish(
  action: Action,
  options: RemoteOptions,
  agreed: (names: readonly string[]) => void,
): Promise<string[]> {
  const config = await kubeConfig(options.context);
  if (config === undefined)
    throw new CommandError(
      'nothing serves here and there is no kubeconfig: name files with -f, or the operator with --server, --dir or --context',
    );
  const plural = action.source === undefined ? 'pipelines' : 'livesources';
  const objects = await objectsOf(config, plural, meantBy(action, options));
  agreed(objects.map(({ name }) => name));
  const says: string[] = [];
  for (const object of objects) {
    await patchObject(config, plural, object, patchOf(action));
    says.push(`${plural.slice(0, -1)} ${object.namespace}/${object.name}: ${action.action} asked for`);
  }
  return says;
}

/** A Pipeline may be named with its namespace. */
function meantBy({ source }: Action, { namespace, pipeline }: RemoteOptions): Partial<Named> {
  const [before, after] = pipeline?.split('/') ?? [];
  const where = namespace ?? (after === undefined ? undefined : before);
  const name = source ?? after ?? before;
  return { ...(where !== undefined && { namespace: where }), ...(name !== undefined && { name }) };
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

async function objectsOf(config: KubeConfig, plural: string, { name, namespace }: Partial<Named>): Promise<Named[]> {
  const { CustomObjectsApi } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(CustomObjectsApi);
  const where = namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  try {
    const list = await api.listNamespacedCustomObject({ group: GROUP, version: VERSION, namespace: where, plural });
    const all = (list as { items: { readonly metadata: Named }[] }).items.map(({ metadata }) => metadata);
    const found = name === undefined ? all : all.filter((one) => one.name === name);
    if (found.length > 0) return found;
  } catch (error) {
    throw new CommandError(`the cluster does not list ${plural} of ${where}: ${reasonOf(error)}`);
  }
  const what = [plural.slice(0, -1), ...(name === undefined ? [] : [name])].join(' ');
  throw new CommandError(`there is no ${what} in namespace ${where}; -n names another`);
}

/** Asks the runners of a Pipeline to mend what differs between state and targets. */
export async function wishRepair(context: string | undefined, pipeline: Named): Promise<void> {
  const config = await kubeConfig(context);
  if (config === undefined) throw new CommandError('repairing asks the API server, and there is no kubeconfig');
  const annotations = { [ANNOTATIONS.repair]: new Date().toISOString() };
  await patchObject(config, 'pipelines', pipeline, { metadata: { annotations } });
}

async function patchObject(
  config: KubeConfig,
  plural: string,
  { name, namespace }: Named,
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
