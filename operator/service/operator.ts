// The operator of a cluster, from start to end: caches that every replica keeps warm, one lead among them, probes.
import { randomBytes } from 'node:crypto';
import { type ApiServer, createApi, serveApi } from '../api/index.ts';
import type { Clock } from '../clock.ts';
import {
  ClusterCaches,
  type Connection,
  KubeApi,
  LEASE_TIMES,
  LeaderElector,
  type LeaseTimes,
  LeaseWatch,
  type OwnerReference,
  type RequestObserver,
} from '../cluster/index.ts';
import { dashboardAssets } from '../dashboard/index.ts';
import type { PipelineHost } from '../host/index.ts';
import type { Log } from '../log.ts';
import type { OperatorSettings } from '../settings.ts';
import { Leadership, type LeadershipOptions } from './leadership.ts';
import { type ProbeServer, serveProbes } from './probes.ts';

export interface OperatorOptions {
  readonly settings: OperatorSettings;
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** The account that this process runs as; what it keeps beside objects goes with it. */
  readonly account?: OwnerReference | undefined;
  /** Runs a workload under serving rules, for the dashboard. */
  readonly simulate?: (workload: unknown) => object;
  readonly requests?: RequestObserver;
  readonly leaseTimes?: LeaseTimes;
  /** This process is to end: the lead was lost, or could not be taken up. */
  readonly ended: (why: string) => void;
}

/** Caches that are not filled by then mean a cluster that does not serve our kinds, or rights that are missing. */
const SYNC_WITHIN_MS = 240_000;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #api: KubeApi;
  readonly #caches: ClusterCaches;
  readonly #elector: LeaderElector;
  readonly #leaseWatch: LeaseWatch;
  #leadership: Promise<Leadership> | undefined;
  #current: Leadership | undefined;
  #probes: ProbeServer | undefined;
  #server: ApiServer | undefined;
  #isSynced = false;
  #isStopping = false;

  constructor(options: OperatorOptions) {
    const { settings, connection, clock, random, version, account } = options;
    this.#options = options;
    const userAgent = `fairlead-operator/${version}`;
    this.#api = new KubeApi({
      connection,
      clock,
      random,
      userAgent,
      ...(options.requests && { observer: options.requests }),
    });
    this.#caches = new ClusterCaches({
      api: this.#api,
      namespaces: settings.namespaces,
      watchesNodes: settings.namespaces.length === 0 && settings.cardBudget.size === 0,
      events: {
        pipeline: (key, object) => this.#current?.control.pipelineChanged(key, object),
        source: (key, object) => this.#current?.control.sourceChanged(key, object),
        pod: (pod, isGone) => this.#current?.podChanged(pod, isGone),
        nodes: () => this.#current?.control.nodesChanged(),
      },
    });
    const identity = `${settings.podName}-${randomBytes(4).toString('hex')}`;
    const lease = {
      namespace: settings.podNamespace,
      name: settings.leaseName,
      identity,
      owner: account,
      ...(options.leaseTimes ?? LEASE_TIMES),
    };
    this.#elector = new LeaderElector(this.#api, lease, {
      onLead: (epoch, signal) => this.#lead(epoch, signal),
      onLost: (why) => this.#lost(why),
      onFollow: (leader) => options.log.info('another operator leads', { leader }),
    });
    this.#leaseWatch = new LeaseWatch(this.#api, lease, () => this.#elector.leaseChanged());
  }

  get isLeading(): boolean {
    return this.#current !== undefined && this.#elector.isLeading();
  }

  /** Fills the caches, then stands for the lead. Ends early, without an error, where `stop` comes first. */
  async start(): Promise<void> {
    const { settings, clock, log, ended } = this.#options;
    this.#probes = await serveProbes(settings.httpPort, {
      isStarted: () => this.#isSynced,
      whyDead: () => this.#whyDead(),
      metrics: () => this.#metrics(),
    });
    this.#server = await this.#serveApi();
    const cancel = clock.after(SYNC_WITHIN_MS, () => ended('the API server did not list our kinds in time'));
    this.#caches.start();
    const isSynced = await this.#caches.synced();
    cancel();
    if (!isSynced || this.#isStopping) return;
    this.#isSynced = true;
    log.info('the caches are filled');
    this.#leaseWatch.start();
    this.#elector.start();
  }

  /** Lets go of the lead and ends, so that a follower takes over at once. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const leadership = await this.#leadership?.catch(() => undefined);
    this.#current = undefined;
    await leadership?.stop('the operator stops');
    await this.#elector.stop();
    await Promise.all([this.#leaseWatch.stop(), this.#caches.stop()]);
    await Promise.all([this.#probes?.close(), this.#server?.close()]);
    await this.#options.connection.close();
  }

  /** What people look at. A follower serves it too, and has nothing to show. */
  async #serveApi(): Promise<ApiServer | undefined> {
    const { settings, clock, version, simulate } = this.#options;
    const { api: address, apiToken: token } = settings;
    if (address === undefined) return undefined;
    const api = createApi({
      clock,
      hosts: () => this.#hosts(),
      access: { isLoopback: address.isLoopback, ...(token !== undefined && { token }) },
      about: `fairlead-operator ${version}`,
      takesActions: false,
      assets: await dashboardAssets(),
      ...(simulate !== undefined && { simulate }),
    });
    return serveApi(api, address.host, address.port);
  }

  #hosts(): ReadonlyMap<string, PipelineHost> {
    const hosted = this.isLeading ? [...(this.#current?.control.hosts.entries() ?? [])] : [];
    return new Map(hosted.map(([key, { host }]) => [key, host]));
  }

  #lead(epoch: number, signal: AbortSignal): void {
    const { ended } = this.#options;
    this.#leadership = this.#takeUp({
      ...this.#options,
      api: this.#api,
      caches: this.#caches,
      epoch,
      signal,
      isLeading: () => this.#elector.isLeading(),
      newerLeader: (newer) => {
        this.#elector.noteEpoch(newer);
        ended(`an operator of epoch ${newer} leads`);
      },
    });
    this.#leadership.catch((error: unknown) =>
      ended(`the lead could not be taken up: ${error instanceof Error ? error.message : error}`),
    );
  }

  /** What the caches tell is heard from before control looks at everything that they hold: nothing falls between. */
  async #takeUp(options: LeadershipOptions): Promise<Leadership> {
    const leadership = await Leadership.prepare(options);
    if (this.#isStopping || options.signal.aborted) return leadership;
    this.#current = leadership;
    await leadership.begin();
    return leadership;
  }

  /** A process that led and does not is ended: whatever it still had in mind is from another time. */
  #lost(why: string): void {
    if (this.#isStopping) return;
    void this.#current?.stop(why).catch(() => {});
    this.#current = undefined;
    this.#options.ended(`the lead was lost: ${why}`);
  }

  #whyDead(): string | undefined {
    const { state } = this.#elector;
    if (state.role === 'leader' && !this.#elector.isLeading()) return 'the lease is over and this operator still leads';
    return undefined;
  }

  #metrics(): string {
    const leads = this.isLeading ? 1 : 0;
    const { pipelines, sources } = this.#current?.control.metrics() ?? {};
    const lines = [
      '# TYPE fairlead_operator_is_leader gauge',
      `fairlead_operator_is_leader ${leads}`,
      '# TYPE fairlead_operator_api_requests_in_flight gauge',
      `fairlead_operator_api_requests_in_flight ${this.#api.inFlight}`,
      '# TYPE fairlead_operator_queue_depth gauge',
      `fairlead_operator_queue_depth{kind="Pipeline"} ${pipelines?.depth ?? 0}`,
      `fairlead_operator_queue_depth{kind="LiveSource"} ${sources?.depth ?? 0}`,
      '# TYPE fairlead_operator_statuses_written_total counter',
      `fairlead_operator_statuses_written_total ${this.#current?.control.statuses.written ?? 0}`,
    ];
    return `${lines.join('\n')}\n`;
  }
}
