// What commands that ask an operator share: options, finding it, choosing the Pipeline.
import type { Command } from 'commander';
import type { Overview, PipelineView } from '../../operator/api/index.ts';
import { CommandError } from '../exit.ts';
import { addOutput, type Form } from '../output.ts';
import { ApiClient } from './client.ts';
import { type ClusterOptions, forward, kubeConfig } from './cluster.ts';
import { type ApiPlace, announcedFor } from './place.ts';

export interface RemoteOptions extends ClusterOptions {
  readonly server?: string;
  readonly token?: string;
  readonly dir: string;
  readonly namespace?: string;
  readonly pipeline?: string;
  readonly output?: Form;
}

/** Options of every command that asks an operator. */
export function addRemote(command: Command): Command {
  return addOutput(command)
    .option(
      '--server <url>',
      'API of the operator (default: what serves in this folder, else the cluster of the kubeconfig)',
    )
    .option('--token <token>', 'token of the API, where it asks for one; else FAIRLEAD_TOKEN')
    .option('--dir <folder>', 'folder in which `fairlead dev` or the standalone operator runs', '.')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--operator-namespace <name>', "the operator's namespace, where pods of all namespaces may not be listed")
    .option('-n, --namespace <name>', 'only Pipelines of this namespace')
    .option('--pipeline <name>', 'Pipeline, as name or namespace/name, where there are several');
}

/** The operator that was named, or that serves in the folder; undefined: the cluster is meant. */
export function namedPlace(options: RemoteOptions): ApiPlace | undefined {
  const url = options.server ?? process.env.FAIRLEAD_SERVER;
  const token = options.token ?? process.env.FAIRLEAD_TOKEN;
  if (url !== undefined) return { url, ...(token !== undefined && { token }) };
  return options.context === undefined ? announcedFor(options.dir) : undefined;
}

/** The error of whoever looks for an operator where there is none. */
export const NOTHING_SERVES =
  'nothing serves here: no `fairlead dev --watch` and no standalone operator runs in this folder (--dir names another), and there is no kubeconfig. --server takes a URL.';

/** Finds the operator, lets `work` ask it, and hangs up. */
export async function withOperator<T>(options: RemoteOptions, work: (client: ApiClient) => Promise<T>): Promise<T> {
  const named = namedPlace(options);
  if (named !== undefined) return work(new ApiClient(named));
  const config = await kubeConfig(options.context);
  if (config === undefined) throw new CommandError(NOTHING_SERVES);
  const place = await forward(config, options);
  try {
    return await work(new ApiClient(place));
  } finally {
    place.close();
  }
}

/** Pipelines that the options name, in order of name. */
export async function pipelinesOf(client: ApiClient, options: RemoteOptions): Promise<PipelineView[]> {
  return chosen((await client.get<Overview>('/api/v1/overview')).pipelines, options);
}

export function chosen(
  all: readonly PipelineView[],
  { namespace, pipeline }: Pick<RemoteOptions, 'namespace' | 'pipeline'>,
): PipelineView[] {
  const found = all.filter(
    ({ name }) =>
      (namespace === undefined || name.startsWith(`${namespace}/`)) &&
      (pipeline === undefined || name === pipeline || name.endsWith(`/${pipeline}`)),
  );
  if (found.length === 0)
    throw new CommandError(
      `there is no such Pipeline; there is ${all.map(({ name }) => name).join(', ') || 'none at all'}`,
    );
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** "namespace/name". */
export function partsOf(pipeline: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = pipeline.split('/');
  return { namespace, name };
}
