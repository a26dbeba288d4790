// Serves the API of a process of this machine, and tells commands where it is.
import { join } from 'node:path';
import { type ApiOptions, createApi, serveApi } from '../../operator/api/index.ts';
import { dashboardAssets } from '../../operator/dashboard/index.ts';
import { CommandError } from '../exit.ts';
import { programVersion } from '../version.ts';
import { announce, newToken } from './place.ts';
import { whatIf } from './what-if.ts';

/** `off`, or an address and a port. */
export const API_FLAG = '--api <host:port>';
export const API_DEFAULT = '127.0.0.1:0';
export const API_MEANING =
  'address of the API and the dashboard; port 0: any free one; off: none. Beyond loopback every request needs the token';

export interface ServedApi {
  readonly url: string;
  close(): Promise<void>;
}

export interface ServeOptions extends Omit<ApiOptions, 'access' | 'about' | 'takesActions' | 'assets' | 'simulate'> {
  /** As given to `--api`. */
  readonly address: string;
  /** Folder for the file that tells commands the address and the token. */
  readonly folder: string;
}

/** Undefined: it is off. */
export async function serveLocalApi({ address, folder, ...options }: ServeOptions): Promise<ServedApi | undefined> {
  if (address === 'off') return undefined;
  const { host, port } = parseAddress(address);
  const token = process.env.FAIRLEAD_API_TOKEN ?? newToken();
  const isLoopback = ['127.0.0.1', '::1', 'localhost'].includes(host);
  const api = createApi({
    ...options,
    access: { isLoopback, token },
    about: `fairlead ${programVersion()}`,
    takesActions: true,
    simulate: whatIf,
    assets: await dashboardAssets(),
  });
  const server = await serveApi(api, host, port).catch((error: unknown) => {
    throw new CommandError(`--api ${address} cannot be opened: ${error instanceof Error ? error.message : error}`);
  });
  const url = `http://${isLoopback ? '127.0.0.1' : host}:${server.port}`;
  const announced = announce(folder, { url, token });
  return {
    url,
    close: async () => {
      announced.withdraw();
      await server.close();
    },
  };
}

function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined || Number(port) > 65_535)
    throw new CommandError(`--api takes host:port such as 127.0.0.1:7070, or off, not ${address}`, 'usage');
  return { host, port: Number(port) };
}

/** Where the file of the API lies, for messages. */
export const placeFile = (folder: string): string => join(folder, 'api.json');
