// The Prometheus of a place, which scrapes the operators and knows the chart's alerts.
import { eventually } from '../../test/support/eventually.ts';
import type { Place } from './place.ts';
import { type Forwarded, forward, run } from './programs.ts';
import { WITHIN_MS } from './watch.ts';

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [atS: number, value: string];
}

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
}

export class Prometheus {
  readonly #forwarded: Forwarded;

  static async serve(place: Place): Promise<Prometheus> {
    const configMap = ['create', 'configmap', 'alerts', '--from-file=charts/fairlead/files/alerts.json'];
    await place.apply(await run('kubectl', [...configMap, '--dry-run=client', '-o', 'json']));
    await place.serve('services/prometheus.yaml', 'prometheus');
    return new Prometheus(await forward(place.namespace, 'prometheus', 9090));
  }

  private constructor(forwarded: Forwarded) {
    this.#forwarded = forwarded;
  }

  /** The values that a query gives, once `holds` accepts them. */
  async answers(query: string, holds: (values: readonly number[]) => boolean): Promise<readonly number[]> {
    const look = async () => {
      const { result } = (await this.#ask(`query?${new URLSearchParams({ query })}`)) as { result: Sample[] };
      return result.map(({ value: [, value] }) => Number(value));
    };
    return eventually(look, holds, `Prometheus answers ${query}`, WITHIN_MS);
  }

  /** Its alerting rules, once each was evaluated. */
  async rules(): Promise<readonly Rule[]> {
    const look = async () => {
      const { groups } = (await this.#ask('rules')) as { groups: { rules: Rule[] }[] };
      return groups.flatMap(({ rules }) => rules);
    };
    const areKnown = (rules: readonly Rule[]) => rules.length > 0 && rules.every(({ health }) => health !== 'unknown');
    return eventually(look, areKnown, 'Prometheus evaluated its rules', WITHIN_MS);
  }

  stop(): void {
    this.#forwarded.stop();
  }

  async #ask(path: string): Promise<unknown> {
    const signal = AbortSignal.timeout(WITHIN_MS);
    const reply = await fetch(`http://127.0.0.1:${this.#forwarded.port}/api/v1/${path}`, { signal });
    return ((await reply.json()) as { data: unknown }).data;
  }
}
