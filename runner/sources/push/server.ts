// A web server for push sources alone.
import { createServer, type Server } from 'node:http';
import { type FindPushSource, pushListener } from './listener.ts';

export interface PushServer {
  readonly port: number;
  /** Messages that are being taken are broken off: their senders send them again. */
  close(): Promise<void>;
}

/** Listens; rejects where the address cannot be had. `port` 0: any free one. */
export async function servePushes(find: FindPushSource, host: string, port: number): Promise<PushServer> {
  const server = createServer(pushListener(find));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    close: () => closed(server),
  };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
