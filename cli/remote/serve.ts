// Serves the API of a process of this machine, and tells commands where it is.
import { type ApiOptions, createApi, parseApiAddress, serveApi, urlOf } from '../../operator/api/index.ts';
import { dashboardAssets } from '../../operator/dashboard/index.ts';
import { CommandError } from '../exit.ts';
import { programVersion } from '../version.ts';
import { announce, newToken, type Server } from './place.ts';
import { whatIf } from './what-if.ts';

export interface ServedApi {
  readonly url: string;
  close(): Promise<void>;
}

export interface ServeOptions extends Omit<ApiOptions, 'access' | 'about' | 'assets' | 'simulate'> {
  /** As given to `--api`. */
  readonly address: string;
  /** Folder for the file that tells commands the address and the token. */
  readonly folder: string;
  readonly by: Server;
}

/** Undefined: it is off. */
export async function serveLocalApi({ address, folder, by, ...options }: ServeOptions): Promise<ServedApi | undefined> {
  const place = parseApiAddress(address);
  if (place === 'off') return undefined;
  if (place === undefined)
    throw new CommandError(`--api takes host:port such as 127.0.0.1:7070, or off, not ${address}`, 'usage');
  const { host, port, isLoopback } = place;
  const token = process.env.FAIRLEAD_API_TOKEN ?? newToken();
  const api = createApi({
    ...options,
    access: { isLoopback, token },
    about: `fairlead ${programVersion()}`,
    simulate: whatIf,
    assets: dashboardAssets(),
  });
  const server = await serveApi(api, host, port).catch((error: unknown) => {
    throw new CommandError(`--api ${address} cannot be opened: ${error instanceof Error ? error.message : error}`);
  });
  const url = urlOf(place, server.port);
  const announced = announce(folder, { url, token, by });
  return {
    url,
    close: async () => {
      announced.withdraw();
      await server.close();
    },
  };
}
