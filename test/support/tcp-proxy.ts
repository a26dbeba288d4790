// Stands between two ends of a connection and does what networks do at bad moments.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly ends: readonly [Socket, Socket];
  /** Nothing passes any more, and neither end is told. */
  isHalfOpen: boolean;
}

export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #target = 0;
  #isCut = false;
  #delayMs = 0;

  constructor() {
    this.#server = createServer((client) => this.#accept(client));
  }

  /** The port that leads to `target`. */
  async listen(target: number): Promise<number> {
    this.#target = target;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that there are swallow everything from now on; new ones work. */
  forget(): void {
    for (const pair of this.#pairs) pair.isHalfOpen = true;
  }

  /** Nothing gets through, neither on connections that there are nor on new ones, and nobody is told. */
  cut(): void {
    this.#isCut = true;
    this.forget();
  }

  heal(): void {
    this.#isCut = false;
  }

  /** Everything takes so long in each direction. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  close(): void {
    for (const { ends } of this.#pairs) for (const end of ends) end.destroy();
    this.#server.close();
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    const pair: Pair = { ends: [client, server], isHalfOpen: this.#isCut };
    this.#pairs.add(pair);
    this.#pass(pair, client, server);
    this.#pass(pair, server, client);
  }

  #pass(pair: Pair, from: Socket, to: Socket): void {
    const later = (act: () => void) => {
      if (pair.isHalfOpen) return;
      if (this.#delayMs === 0) act();
      else setTimeout(act, this.#delayMs);
    };
    from.on('data', (data) => later(() => to.write(data)));
    from.on('error', () => {});
    from.on('close', () => later(() => to.destroy()));
  }
}
