// A runner of each Pipeline, on the real link with a real token, that answers every cycle at once.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { PodObject } from '../../operator/reconcile/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { NO_COUNTS, type RunOrder } from '../../runner/protocol/index.ts';
import { dialer, RunnerLink, RunnerSession } from '../../runner/session/index.ts';
import { OPERATOR_NAMESPACE, type World } from './world.ts';

const LOOK_MS = 100;

export class Fleet {
  readonly #world: World;
  readonly #linkPort: number;
  readonly #links: RunnerLink[] = [];
  readonly #seen = new Set<string>();
  #joined = 0;
  #cycles = 0;
  #waitedFor: { readonly source: string; readonly resolve: () => void } | undefined;

  constructor(world: World, linkPort: number) {
    this.#world = world;
    this.#linkPort = linkPort;
  }

  /** Cycles that were executed. */
  get cycles(): number {
    return this.#cycles;
  }

  /** A runner joins from every pod that the operator made. */
  async joinAll(): Promise<void> {
    const ca = await this.#authority();
    for (const name of this.#world.pipelines) {
      const pod = await this.#podOf(name);
      await this.#start(pod);
      this.#links.push(this.#dial(this.#world.keyOf(name), pod.metadata.name, ca, await this.#tokenOf(pod)));
    }
    while (this.#joined < this.#world.pipelines.length) await pause(LOOK_MS);
  }

  /** Waits until so many sources had a cycle, from the start or since `countAnew`. */
  async untilCycles(sources: number): Promise<void> {
    while (this.#seen.size < sources) await pause(LOOK_MS);
  }

  countAnew(): void {
    this.#seen.clear();
  }

  /** Time from the apply of another LiveSource to the start of its first run. */
  async applyToFirstRun(n: number): Promise<number> {
    const name = `applied-${n}`;
    const started = new Promise<void>((resolve) => {
      this.#waitedFor = { source: name, resolve };
    });
    const atMs = performance.now();
    await this.#world.apply(name, this.#world.pipelines[n % this.#world.pipelines.length]!);
    await started;
    return performance.now() - atMs;
  }

  close(): void {
    for (const link of this.#links) link.close();
  }

  #ran({ source = '' }: RunOrder): void {
    this.#cycles++;
    this.#seen.add(source);
    if (this.#waitedFor?.source === source) this.#waitedFor.resolve();
  }

  /** The pod of a Pipeline, as soon as the operator has made it. */
  async #podOf(pipelineName: string): Promise<PodObject> {
    for (;;) {
      const labelSelector = encodeURIComponent(`fairlead.dev/pipeline=${pipelineName}`);
      const { body } = await this.#world.api.ask('GET', `${this.#world.path('pods')}?labelSelector=${labelSelector}`);
      const [pod] = (body as { items: PodObject[] }).items;
      if (pod !== undefined) return pod;
      await pause(LOOK_MS);
    }
  }

  /** What a scheduler and a kubelet would do. */
  async #start({ metadata: { name } }: PodObject): Promise<void> {
    const path = this.#world.path('pods', name);
    await this.#world.post(`${path}/binding`, { metadata: { name }, target: { kind: 'Node', name: 'node' } });
    await this.#world.patch(`${path}/status`, { status: { phase: 'Running' } });
  }

  async #tokenOf({ metadata: { name, uid } }: PodObject): Promise<string> {
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
    const spec = { audiences: ['fairlead'], expirationSeconds: 3600, boundObjectRef };
    const path = `${this.#world.path('serviceaccounts', 'default')}/token`;
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
    return ((await this.#world.post(path, request)) as { status: { token: string } }).status.token;
  }

  async #authority(): Promise<string> {
    const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/secrets/fairlead-link`;
    const { body } = await this.#world.api.ask('GET', path);
    return Buffer.from((body as { data: Record<string, string> }).data['ca.crt'] ?? '', 'base64').toString();
  }

  #dial(pipeline: string, runner: string, ca: string, token: string): RunnerLink {
    const session: RunnerSession = new RunnerSession({
      engine: {
        start: (order) => {
          this.#ran(order);
          session.uplink.exited(order.token.run, { kind: 'done', counts: { ...NO_COUNTS, unchanged: 1 } });
        },
        cancel() {},
        renewed() {},
        mountStarted() {},
        mountEnded() {},
        cardGranted() {},
        cardRefused() {},
      },
      defer: setImmediate,
      link: {
        sendBatch: (opening, bytes) => link.sendBatch(opening, bytes),
        sendReport: (opening, bytes) => link.sendReport(opening, bytes),
        stopped: () => link.stopped(),
        leave: (why) => link.leave(why),
        gone: () => link.gone(),
      },
      onOpened: () => this.#joined++,
    });
    const link = new RunnerLink({
      clock: systemClock,
      random: Math.random,
      newId: randomUUID,
      identity: { runner, pipeline, runnerClass: 'default', slots: 64, gpus: 0 },
      owner: session,
      dial: dialer({ addresses: [`https://localhost:${this.#linkPort}`], ca, token: async () => token }),
    });
    link.start();
    return link;
  }
}
