// The webhook of push sources while `fairlead dev --watch` runs: POST /push/NAMESPACE/NAME, signed.
import { createServer, type Server } from 'node:http';
import { parseApiAddress } from '../../operator/api/index.ts';
import { PushSource, pushListener } from '../../runner/sources/index.ts';
import { CommandError } from '../exit.ts';
import type { LocalPipeline } from './pipeline.ts';

export const DEFAULT_PUSH_ADDRESS = '127.0.0.1:4180';

export interface PushServer {
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
export async function servePush(pipelines: readonly LocalPipeline[], address: string): Promise<PushServer | undefined> {
  const sources = pushSources(pipelines);
  if (sources.size === 0) return undefined;
  const place = parseApiAddress(address);
  if (place === undefined || place === 'off')
    throw new CommandError(`--push-address: ${address} is not host:port`, 'usage');
  const { host, port } = place;
  const server = createServer(pushListener((path) => sources.get(path)));
  await listening(server, host, port, address);
  const bound = server.address();
  const shown = typeof bound === 'object' && bound !== null ? bound.port : port;
  return { url: `http://${host}:${shown}`, paths: [...sources.keys()], close: () => closed(server) };
}

function listening(server: Server, host: string, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new CommandError(
          `cannot listen on ${address} for pushes: ${error.message}; choose another with --push-address`,
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
