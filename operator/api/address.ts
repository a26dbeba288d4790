// Where the API listens: `off`, or host and port.

export interface ApiAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly isLoopback: boolean;
}

const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** Undefined: it is neither `off` nor an address. */
export function parseApiAddress(text: string): ApiAddress | 'off' | undefined {
  if (text === 'off') return 'off';
  const [, host, digits] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === undefined || port > 65_535) return undefined;
  return { host, port, isLoopback: LOOPBACK.includes(host) };
}

/** Where whoever is on this machine finds what listens there. `port`: the one that it was given. */
export const urlOf = ({ host }: ApiAddress, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
