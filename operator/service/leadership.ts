// What an operator does between winning and losing the lead: certificates, the gateway for runners, control.
//   D1. Runners are let in only while this operator leads; when it does not, all streams close at once, and nothing more is written.
//   D2. Runner pods that run already are expected: they count as holding all their slots until they report or are proven gone.
//   D3. A stream ends when its pod is gone, though the API server goes on accepting the token for seconds.
//   D4. Only the leader's pod has the leader's label: one that crashed or stalls cannot take its own off, so whoever leads next does.
import { randomUUID } from 'node:crypto';
import { LABELS } from '../../crds/schema/index.ts';
import type { Clock } from '../clock.ts';
import {
  CertificateKeeper,
  type ClusterCaches,
  isNotFound,
  type KubeApi,
  type LinkCertificates,
  labelAsLeader,
  type OwnerReference,
  TokenReviewer,
  unlabelAsLeader,
} from '../cluster/index.ts';
import type { Follower } from '../dispatch/index.ts';
import { Gateway, type GatewayServer, LEASE_DEFAULTS, serveGateway } from '../gateway/index.ts';
import type { PipelineHost } from '../host/index.ts';
import type { Log } from '../log.ts';
import { isProvenEnded, type PodObject, type StoredObject } from '../reconcile/index.ts';
import { AUDIENCE, type OperatorSettings } from '../settings.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { Control } from './control.ts';

export interface LeadershipOptions {
  readonly settings: OperatorSettings;
  readonly api: KubeApi;
  readonly caches: ClusterCaches;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** The account that this process runs as; what it keeps beside objects goes with it. */
  readonly account?: OwnerReference | undefined;
  readonly epoch: number;
  readonly signal: AbortSignal;
  readonly isLeading: () => boolean;
  /** The pod that led before, where this operator saw it lead. */
  readonly ledBefore?: string;
  /** A runner has seen a newer epoch: this operator is to end. */
  readonly newerLeader: (epoch: number) => void;
  readonly telemetry: Telemetry;
  /** Follows each host; default: what telemetry gives. */
  readonly follow?: (pipelineKey: string) => Follower;
}

/** How often certificates are looked at; they are renewed weeks before they end. */
const CERTIFICATES_EVERY_MS = 3_600_000;

export class Leadership {
  readonly control: Control;
  readonly #options: LeadershipOptions;
  readonly #keeper: CertificateKeeper;
  readonly #gateway: Gateway;
  #certificates: LinkCertificates;
  #server: GatewayServer | undefined;
  #cancelCertificates: () => void = () => {};

  /** Makes what leading needs; nobody is let in and nothing is written but the certificates before `begin`. */
  static async prepare(options: LeadershipOptions): Promise<Leadership> {
    const { api, settings, account } = options;
    const secret = { namespace: settings.podNamespace, name: settings.linkSecret };
    const keeper = new CertificateKeeper(api, secret, settings.service.replace(/:\d+$/, ''), account);
    return new Leadership(options, keeper, await keeper.ensure());
  }

  private constructor(options: LeadershipOptions, keeper: CertificateKeeper, certificates: LinkCertificates) {
    const { settings, clock, epoch } = options;
    this.#options = options;
    this.#keeper = keeper;
    this.#certificates = certificates;
    this.#gateway = new Gateway({
      clock,
      epoch,
      operator: randomUUID(),
      pools: { find: (key) => this.#poolOf(key) },
      // The lead is won when the one before was given up, or its Lease had run out: by then that operator answers no runner.
      lease: { ...LEASE_DEFAULTS, leaseTimeoutMs: settings.leaseTimeoutMs, handOverMs: 0 },
      events: this.#gatewayEvents(),
      defer: setImmediate,
    });
    this.control = new Control({
      ...options,
      finalizerTimeoutMs: settings.finalizerTimeoutMs,
      pendingTimeoutMs: settings.pendingTimeoutMs,
      runnerPod: () => this.#runnerPod(),
      cardBudget: settings.cardBudget,
      cardWeights: settings.cardWeights,
      instance: settings.podName,
      specsChanged: (key) => this.#gateway.specsChanged(key),
      hostOpened: (key, object, host) => this.#expect(key, object, host),
      follow: options.follow ?? ((key) => options.telemetry.follow(key)),
      hostClosed: (key) => options.telemetry.forget(key),
      reconciled: (kind, result, tookMs) => options.telemetry.cluster.reconciled(kind, result, tookMs),
    });
  }

  /** Lets runners in and reconciles what is there. Call it once; changes are to be told from before that. */
  async begin(): Promise<void> {
    const { api, log, epoch, signal } = this.#options;
    await this.#listen();
    this.control.start();
    this.#renewLater();
    await labelAsLeader(api, this.#pod, signal);
    await this.#unlabelBefore();
    log.info('this operator leads', { epoch });
  }

  /** A runner pod changed, or went (`isGone`). Its stream ends with it; its slots and cards come back when it is proven that nothing runs (D3). */
  podChanged(pod: PodObject, isGone: boolean): void {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const pipeline = `${pod.metadata.namespace ?? 'default'}/${owner?.name ?? ''}`;
    const hasEnded = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
    if (isGone ? isProvenEnded(pod) : hasEnded)
      this.#gateway.provenGone(pipeline, pod.metadata.name, 'its pod is gone');
    else if (isGone) this.#gateway.sever(pipeline, pod.metadata.name, 'its pod was deleted');
    this.control.podChanged(pod);
  }

  /** Ends: streams close first (D1), then what is in hand ends. */
  async stop(why: string): Promise<void> {
    this.#cancelCertificates();
    this.#gateway.close(why);
    await Promise.all([this.#server?.close(), this.control.stop()]);
    // Whoever leads next sets its own label; a pod that stays labelled would only send runners away.
    await unlabelAsLeader(this.#options.api, this.#pod).catch(() => {});
  }

  /** D4. A pod that is gone has no label. */
  async #unlabelBefore(): Promise<void> {
    const { api, ledBefore, log, signal } = this.#options;
    if (ledBefore === undefined || ledBefore === this.#pod.name) return;
    await unlabelAsLeader(api, { ...this.#pod, name: ledBefore }, signal).catch((error: unknown) => {
      if (!isNotFound(error)) log.warn('the pod that led before may still have the label of the leader', { error });
    });
  }

  get #pod() {
    const { podName: name, podNamespace: namespace } = this.#options.settings;
    return { name, namespace };
  }

  async #listen(): Promise<void> {
    const { api, caches, settings, log } = this.#options;
    const reviewer = new TokenReviewer({
      api,
      audience: AUDIENCE,
      pod: (key) => caches.pod(key),
      pipeline: (key) => caches.pipeline(key),
    });
    const { cert, key } = this.#certificates;
    this.#server = await serveGateway({
      gateway: this.#gateway,
      authenticate: async (token) => {
        const answer = await reviewer.authenticate(token);
        if (answer.kind === 'accepted') return answer.identity;
        log.warn('a stream was refused', { why: answer.why });
        return undefined;
      },
      cert,
      key,
      host: '0.0.0.0',
      port: settings.linkPort,
    });
  }

  #renewLater(): void {
    this.#cancelCertificates = this.#options.clock.after(CERTIFICATES_EVERY_MS, () => {
      this.#renew().catch((error: unknown) => this.#options.log.warn('certificates could not be renewed', { error }));
      this.#renewLater();
    });
  }

  /** New streams see the new certificate, open ones go on. Pods are made anew, one by one, where what they trust has changed. */
  async #renew(): Promise<void> {
    const before = this.#certificates;
    this.#certificates = await this.#keeper.ensure();
    const { ca, cert, key } = this.#certificates;
    if (cert !== before.cert) {
      this.#server?.renew(cert, key);
      this.#options.log.info('the certificate of the link was renewed');
    }
    if (ca !== before.ca) this.control.lookAtAll();
  }

  #poolOf(key: string) {
    const host = this.control.hosts.get(key)?.host;
    return host === undefined ? undefined : { host, specs: () => host.wireSpecs() };
  }

  /** D2. */
  #expect(key: string, object: StoredObject, host: PipelineHost): void {
    const slotsOf = new Map(host.specs.pipeline.runners.map(({ name, slots }) => [name, slots]));
    const running = this.#options.caches
      .podsOf(object.metadata.uid ?? '')
      .filter(({ status }) => status?.phase === 'Running')
      .map(({ metadata }) => ({
        pipeline: key,
        runner: metadata.name,
        slots: slotsOf.get(metadata.labels?.[LABELS.runnerClass] ?? '') ?? 0,
      }));
    this.#gateway.expect(running);
  }

  #runnerPod() {
    const { settings, version } = this.#options;
    const { image, pullPolicy, pullSecrets, graceS, inherited } = settings.runner;
    return {
      image,
      imagePullPolicy: pullPolicy,
      imagePullSecrets: pullSecrets,
      operatorAddress: settings.service,
      operatorCa: this.#certificates.ca,
      audience: AUDIENCE,
      version,
      graceS,
      inherited,
    };
  }

  #gatewayEvents() {
    const { log, newerLeader } = this.#options;
    return {
      newerLeader,
      joined: (runner: string, pipeline: string, slots: number) => {
        log.info('a runner joined', { runner, pipeline, slots });
        this.control.runnerChanged(pipeline);
      },
      silent: (runner: string) => log.warn('a runner is silent', { runner }),
      resumed: (runner: string) => log.info('a runner is heard again', { runner }),
      left: (runner: string, why: string) => log.info('a runner left', { runner, why }),
      refused: (peer: string, why: string) => log.warn('a runner was refused', { peer, why }),
    };
  }
}
