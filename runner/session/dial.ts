// A stream to an operator: gRPC over HTTP/2 with TLS, as the link sees it.
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { type Frame, Outflow, RunnerLink, type Wire, type WireEvents } from '../protocol/index.ts';

export interface DialOptions {
  /** Such as https://fairlead-operator:8443; tried in turn. */
  readonly addresses: readonly string[];
  /** Certificates of the authorities that the operator's certificate may come from, PEM. */
  readonly ca: string;
  /** What proves who this runner is; read anew for each stream, since tokens are renewed. */
  readonly token: () => Promise<string>;
}

/** How long a closed stream may take to deliver what was said before. */
const LAST_WORDS_MS = 500;

/** Opens streams; `attempt` chooses the address. */
export function dialer(options: DialOptions): (attempt: number, events: WireEvents) => Wire {
  return (attempt, events) => {
    const address = options.addresses[attempt % options.addresses.length]!;
    const abort = new AbortController();
    const outflow = new Outflow<Frame>({ drained: () => events.drained(), unread: () => abort.abort() });
    const stream = async () => {
      const transport = createGrpcTransport({
        baseUrl: address,
        nodeOptions: { ca: options.ca },
        acceptCompression: [],
      });
      const client = createClient(RunnerLink, transport);
      const headers = { authorization: `Bearer ${await options.token()}` };
      for await (const frame of client.connect(outflow, { headers, signal: abort.signal })) events.frame(frame);
    };
    stream().then(
      () => events.closed(`${address} closed the stream`),
      (error: unknown) => events.closed(`${address}: ${error instanceof Error ? error.message : String(error)}`),
    );
    return {
      send: (frame) => outflow.push(frame),
      get isCongested() {
        return outflow.isCongested;
      },
      close: () => {
        outflow.end();
        setTimeout(() => abort.abort(), LAST_WORDS_MS).unref();
      },
    };
  };
}
