// The operator of a cluster, from start to end: caches that every replica keeps warm, one lead among them, probes.
import { randomBytes } from 'node:crypto';
import { type ApiServer, createApi, serveApi } from '../api/index.ts';
import {
  ClusterCaches,
  type Connection,
  KubeApi,
  LEASE_TIMES,
  LeaderElector,
  type LeaseTimes,
  LeaseWatch,
  type ReflectorObserver,
  type RequestObserver,
} from '../cluster/index.ts';
import { dashboardAssets } from '../dashboard/index.ts';
import type { PipelineHost } from '../host/index.ts';
import type { Log } from '../log.ts';
import { type ClusterPicture, Telemetry } from '../telemetry/index.ts';
import { Definitions } from './definitions.ts';
import { Leadership, type LeadershipOptions } from './leadership.ts';
import { type ProbeServer, serveProbes } from './probes.ts';

export interface OperatorOptions
  extends Pick<
    LeadershipOptions,
    'settings' | 'clock' | 'random' | 'log' | 'environment' | 'version' | 'account' | 'follow'
  > {
  readonly connection: Connection;
  /** Runs a workload under serving rules, for the dashboard. */
  readonly simulate?: (workload: unknown) => object;
  readonly requests?: RequestObserver;
  /** Default: metrics, and traces that stay in this process. */
  readonly telemetry?: Telemetry;
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
  readonly #telemetry: Telemetry;
  readonly #elector: LeaderElector;
  readonly #leaseWatch: LeaseWatch;
  readonly #definitions: Definitions;
  #leadership: Promise<Leadership> | undefined;
  #current: Leadership | undefined;
  #probes: ProbeServer | undefined;
  #server: ApiServer | undefined;
  /** Whom this operator saw lead last. */
  #followed: string | undefined;
  #isSynced = false;
  #isStopping = false;

  constructor(options: OperatorOptions) {
    const { settings, connection, clock, random, version, account } = options;
    this.#options = options;
    this.#telemetry = options.telemetry ?? new Telemetry({ clock });
    const userAgent = `fairlead-operator/${version}`;
    this.#api = new KubeApi({
      connection,
      clock,
      random,
      userAgent,
      observer: options.requests ?? this.#telemetry.cluster,
    });
    this.#definitions = new Definitions({ api: this.#api, clock, log: options.log });
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
      observer: watchObserver(options.log, this.#telemetry),
    });
    this.#telemetry.registry.observe(() => this.#telemetry.cluster.observe(this.#picture()));
    this.#telemetry.observe(() => this.#hosts().values());
    const identity = candidateOf(settings.podName);
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
      onFollow: (leader) => {
        this.#followed = leader;
        options.log.info('another operator leads', { leader });
      },
    });
    this.#leaseWatch = new LeaseWatch(this.#api, lease, () => this.#elector.leaseChanged());
  }

  get isLeading(): boolean {
    return this.#current !== undefined && this.#elector.isLeading();
  }

  /** Waits for definitions that have what this operator needs, fills the caches, then stands for the lead. Ends early, without an error, where `stop` comes first. */
  async start(): Promise<void> {
    const { settings, clock, log, ended } = this.#options;
    this.#probes = await serveProbes(settings.httpPort, {
      whyNotReady: () => this.#whyNotReady(),
      whyDead: () => this.#whyDead(),
      metrics: () => this.#telemetry.metricsText(),
    });
    this.#server = await this.#serveApi();
    await this.#definitions.served();
    if (this.#isStopping) return;
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
    this.#definitions.stop();
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
      assets: dashboardAssets(),
      trace: (pipeline, update) => this.#telemetry.traces.get(pipeline, update),
      metrics: () => this.#telemetry.metricsText(),
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
      telemetry: this.#telemetry,
      api: this.#api,
      caches: this.#caches,
      epoch,
      signal,
      isLeading: () => this.#elector.isLeading(),
      ...(this.#followed !== undefined && { ledBefore: podOf(this.#followed) }),
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

  #whyNotReady() {
    if (this.#isSynced) return undefined;
    const { problem } = this.#definitions;
    return { why: problem ?? 'the caches are being filled', isStuck: problem !== undefined };
  }

  #whyDead(): string | undefined {
    const { state } = this.#elector;
    if (state.role === 'leader' && !this.#elector.isLeading()) return 'the lease is over and this operator still leads';
    return undefined;
  }

  #picture(): ClusterPicture {
    const control = this.#current?.control;
    const { pipelines, sources } = control?.metrics() ?? {};
    return {
      isLeading: this.isLeading,
      queues: { Pipeline: pipelines?.depth ?? 0, LiveSource: sources?.depth ?? 0 },
      statusWrites: control?.statuses.written ?? 0,
    };
  }
}

/** A restarted pod is another candidate for the Lease. */
const candidateOf = (pod: string): string => `${pod}-${randomBytes(4).toString('hex')}`;
const podOf = (candidate: string): string => candidate.replace(/-[0-9a-f]{8}$/, '');

/** What watches did, for logs and metrics. */
function watchObserver(log: Log, { cluster }: Telemetry): ReflectorObserver {
  return {
    listed: (kind, why, objects, tookMs) => log.debug('objects were listed', { kind, why, objects, tookMs }),
    missed: (kind, changes) => {
      cluster.missed(kind, changes);
      log.warn('a watch had lost changes, which a list found', { kind, changes });
    },
    watchEnded: (kind, why, lastedMs) => log.debug('a watch ended', { kind, why, lastedMs }),
    handlerFailed: (kind, error) => log.error('a change could not be taken in', { kind, error }),
  };
}
