// Settings of the operator in a cluster: parsed once, at start, from flags and environment, into one frozen object.
import { durationMs } from '../crds/schema/index.ts';
import { type ApiAddress, parseApiAddress } from './api/index.ts';

/** Flags as they were given. */
export interface OperatorFlags {
  readonly service?: string;
  readonly lease?: string;
  readonly linkSecret?: string;
  readonly linkPort?: string;
  readonly httpPort?: string;
  readonly runnerImage?: string;
  readonly runnerImagePullPolicy?: string;
  readonly runnerImagePullSecret?: readonly string[];
  readonly runnerGrace?: string;
  readonly runnerInherit?: readonly string[];
  readonly leaseTimeout?: string;
  readonly finalizerTimeout?: string;
  readonly pendingTimeout?: string;
  readonly api?: string;
  readonly decisionLog?: string;
  readonly watchNamespace?: readonly string[];
  readonly cardBudget?: readonly string[];
  readonly cardWeight?: readonly string[];
}

export interface OperatorSettings {
  readonly podName: string;
  readonly podNamespace: string;
  /** Host and port of the Service that leads to the leader. */
  readonly service: string;
  readonly leaseName: string;
  /** Secret in the operator's namespace with its CA and certificate. */
  readonly linkSecret: string;
  readonly linkPort: number;
  readonly httpPort: number;
  /** Where the API and the dashboard listen; undefined: nowhere. */
  readonly api: ApiAddress | undefined;
  /** Needed beyond loopback. */
  readonly apiToken: string | undefined;
  readonly runner: {
    readonly image: string;
    readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never';
    readonly pullSecrets: readonly string[];
    readonly graceS: number;
    readonly inherited: readonly string[];
  };
  /** A runner that reached no operator for so long stops its runs. */
  readonly leaseTimeoutMs: number;
  readonly finalizerTimeoutMs: number;
  readonly pendingTimeoutMs: number;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  readonly cardBudget: ReadonlyMap<string, number>;
  readonly cardWeights: ReadonlyMap<string, number>;
}

export type Settings =
  | { readonly kind: 'settings'; readonly settings: OperatorSettings }
  /** One line for each flag or variable that is wrong. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/** Port of the API and dashboard on loopback of the operator's pod, where `kubectl port-forward` and `fairlead` find it. */
export const API_PORT = 8081;

/** Audience of the tokens that runners show. */
export const AUDIENCE = 'fairlead';

export function parseSettings(
  flags: OperatorFlags,
  environment: Readonly<Record<string, string | undefined>>,
): Settings {
  const problems: string[] = [];
  const read = new Reader(problems);
  const apiToken = environment.FAIRLEAD_API_TOKEN;
  const settings: OperatorSettings = {
    podName: read.text('FAIRLEAD_POD_NAME', environment.FAIRLEAD_POD_NAME),
    podNamespace: read.text('FAIRLEAD_POD_NAMESPACE', environment.FAIRLEAD_POD_NAMESPACE),
    service: read.text('--service', flags.service),
    leaseName: flags.lease ?? 'fairlead',
    linkSecret: flags.linkSecret ?? 'fairlead-link',
    linkPort: read.port('--link-port', flags.linkPort ?? '7443'),
    httpPort: read.port('--http-port', flags.httpPort ?? '8080'),
    api: read.api(flags.api ?? `127.0.0.1:${API_PORT}`, apiToken),
    apiToken,
    runner: {
      image: read.text('--runner-image', flags.runnerImage),
      pullPolicy: read.choice(
        '--runner-image-pull-policy',
        flags.runnerImagePullPolicy ?? 'IfNotPresent',
        PULL_POLICIES,
      ),
      pullSecrets: flags.runnerImagePullSecret ?? [],
      graceS: Math.ceil(read.duration('--runner-grace', flags.runnerGrace ?? '60s') / 1000),
      inherited: flags.runnerInherit ?? [],
    },
    leaseTimeoutMs: read.duration('--lease-timeout', flags.leaseTimeout ?? '120s'),
    finalizerTimeoutMs: read.duration('--finalizer-timeout', flags.finalizerTimeout ?? '10m'),
    pendingTimeoutMs: read.duration('--pending-timeout', flags.pendingTimeout ?? '5m'),
    namespaces: flags.watchNamespace ?? [],
    cardBudget: read.numbers('--card-budget', flags.cardBudget ?? []),
    cardWeights: read.numbers('--card-weight', flags.cardWeight ?? []),
  };
  return problems.length > 0 ? { kind: 'refused', problems } : { kind: 'settings', settings: Object.freeze(settings) };
}

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'] as const;

class Reader {
  readonly #problems: string[];

  constructor(problems: string[]) {
    this.#problems = problems;
  }

  text(name: string, value: string | undefined): string {
    if (value === undefined || value === '') this.#problems.push(`${name} is missing`);
    return value ?? '';
  }

  port(name: string, value: string): number {
    const port = Number(value);
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      this.#problems.push(`${name} must be a port from 1 to 65535, not ${value}`);
    return port;
  }

  api(value: string, token: string | undefined): ApiAddress | undefined {
    const address = parseApiAddress(value);
    if (address === undefined)
      this.#problems.push(`--api must be host:port such as 127.0.0.1:8081, or off, not ${value}`);
    if (address === undefined || address === 'off') return undefined;
    if (!address.isLoopback && (token === undefined || token === ''))
      this.#problems.push(`--api ${value} is open to others, so it needs FAIRLEAD_API_TOKEN`);
    return address;
  }

  duration(name: string, value: string): number {
    try {
      return durationMs(value);
    } catch {
      this.#problems.push(`${name} must be a duration such as 90s or 10m, not ${value}`);
      return 0;
    }
  }

  choice<T extends string>(name: string, value: string, choices: readonly T[]): T {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.#problems.push(`${name} must be one of ${choices.join(', ')}, not ${value}`);
    return found ?? choices[0]!;
  }

  /** `name=number`, repeated. */
  numbers(flag: string, values: readonly string[]): ReadonlyMap<string, number> {
    return new Map(
      values.map((value): [string, number] => {
        const at = value.lastIndexOf('=');
        const number = Number(value.slice(at + 1));
        if (at < 1 || !Number.isInteger(number) || number < 0)
          this.#problems.push(`${flag} must be NAME=NUMBER, not ${value}`);
        return [value.slice(0, at), number];
      }),
    );
  }
}
