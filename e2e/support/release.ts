// A release of the chart, as `helm` makes it.
import { afterAll, beforeAll } from 'vitest';
import { attempt, run } from './programs.ts';
import { isLiving, list, type Seen, until } from './watch.ts';

/** Values by path, such as `{'podLabels.upgraded': 'yes'}`. */
export type Values = Readonly<Record<string, string | number | boolean>>;

const IMAGE: Values = { 'image.repository': 'fairlead', 'image.tag': 'dev', 'image.pullPolicy': 'Never' };
/** Small enough for a node that others use too, short enough for a scenario. */
const SMALL: Values = { 'resources.requests.cpu': '20m', 'runner.gracePeriod': '20s' };
const UNTIL_READY = ['--wait', '--timeout=6m'];
const HELM_MS = 420_000;

const flagsOf = (values: Values): string[] =>
  Object.entries(values).flatMap(([path, value]) => ['--set', `${path}=${value}`]);

export class Release {
  readonly name = 'fairlead';
  readonly namespace: string;
  #values: Values;

  constructor(namespace: string, values: Values) {
    this.namespace = namespace;
    this.#values = { ...IMAGE, ...SMALL, ...values };
  }

  install(): Promise<string> {
    return this.#helm('install', '--create-namespace');
  }

  /** The same chart with further values. */
  upgrade(values: Values): Promise<string> {
    this.#values = { ...this.#values, ...values };
    return this.#helm('upgrade');
  }

  /** `helm test`, with what its pods wrote. */
  test(): Promise<string> {
    return run('helm', ['test', this.name, '-n', this.namespace, '--logs', '--timeout=5m'], { withinMs: HELM_MS });
  }

  async uninstall(): Promise<void> {
    const here = ['--namespace', this.namespace, '--wait', '--ignore-not-found'];
    await attempt('helm', ['uninstall', this.name, ...here], { withinMs: HELM_MS });
  }

  /** Uninstalls it and removes its namespace. */
  async remove(): Promise<void> {
    await this.uninstall();
    await attempt('kubectl', ['delete', 'namespace', this.namespace, '--ignore-not-found', '--timeout=240s'], {
      withinMs: HELM_MS,
    });
  }

  operators(): Promise<readonly Seen[]> {
    return list({ kind: 'pods', namespace: this.namespace, labels: 'app.kubernetes.io/component=operator' });
  }

  /** The operator that leads, once it is another one than `before`. */
  async leader(before?: Seen): Promise<Seen> {
    const isNew = (pod: Seen) => isLiving(pod) && pod.metadata.uid !== before?.metadata.uid;
    const labels = 'fairlead.dev/leader=true';
    const pods = await until(
      { kind: 'pods', namespace: this.namespace, labels },
      (all) => all.filter(isNew).length === 1,
      before === undefined ? 'one operator leads' : 'another operator leads',
    );
    return pods.find(isNew)!;
  }

  /** Who holds the lease, once it is another one than `before`. A lease that was given back is held by nobody. */
  async holder(before?: string): Promise<string> {
    const holderOf = ([lease]: readonly Seen[]): string => String(lease?.spec?.holderIdentity ?? '');
    const leases = await until(
      { kind: 'leases', namespace: this.namespace, name: this.name },
      (all) => !['', before].includes(holderOf(all)),
      before === undefined ? 'the lease is held' : 'another one holds the lease',
    );
    return holderOf(leases);
  }

  #helm(verb: 'install' | 'upgrade', ...more: string[]): Promise<string> {
    const args = [verb, this.name, 'charts/fairlead', '-n', this.namespace, ...UNTIL_READY, ...flagsOf(this.#values)];
    return run('helm', [...args, ...more], { withinMs: HELM_MS });
  }
}

/** The release of this file's scenarios: installed before them, removed with its namespace after. */
export function useRelease(values: Values = {}, namespace = 'fairlead'): Release {
  const release = new Release(namespace, values);
  beforeAll(() => release.install());
  afterAll(() => release.remove());
  return release;
}
