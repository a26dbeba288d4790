// The webhook of push sources while `fairlead dev --watch` runs: POST /push/NAMESPACE/NAME, signed.
import { parseApiAddress } from '../../operator/api/index.ts';
import { PushSource, servePushes } from '../../runner/sources/index.ts';
import { CommandError } from '../exit.ts';
import type { LocalPipeline } from './pipeline.ts';

export const DEFAULT_PUSH_ADDRESS = '127.0.0.1:4180';

export interface PushDoor {
  readonly url: string;
  readonly paths: readonly string[];
  close(): Promise<void>;
}

/** Push sources by the path of their webhook. */
function pushSources(pipelines: readonly LocalPipeline[]): ReadonlyMap<string, PushSource> {
  const found = new Map<string, PushSource>();
  for (const { objects, assembly } of pipelines)
    for (const { namespace, name } of objects.sources) {
      const source = assembly.sources.get(name)?.source;
      if (source instanceof PushSource) found.set(`/push/${namespace}/${name}`, source);
    }
  return found;
}

/** Listens for pushes; undefined: no source is pushed to. Throws CommandError where the address cannot be had. */
export async function servePush(pipelines: readonly LocalPipeline[], address: string): Promise<PushDoor | undefined> {
  const sources = pushSources(pipelines);
  if (sources.size === 0) return undefined;
  const place = parseApiAddress(address);
  if (place === undefined || place === 'off')
    throw new CommandError(`--push-address: ${address} is not host:port`, 'usage');
  const { host, port } = place;
  const server = await servePushes((path) => sources.get(path), host, port).catch((error: Error) => {
    const advice = 'choose another with --push-address';
    throw new CommandError(`cannot listen on ${address} for pushes: ${error.message}; ${advice}`);
  });
  return { url: `http://${host}:${server.port}`, paths: [...sources.keys()], close: () => server.close() };
}
