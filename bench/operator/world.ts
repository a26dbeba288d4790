// An API server with many objects on it.

import { type ApiServer, startApiServer } from '../../test/support/apiserver.ts';
import { installCrds } from '../../test/support/crds.ts';

export const OPERATOR_NAMESPACE = 'fairlead';
const NAMESPACE = 'search';
const WRITERS = 16;
const GROUP = '/apis/fairlead.dev/v1alpha1';

export interface Filling {
  readonly pipelines: number;
  readonly sources: number;
  readonly interval: string;
}

export class World {
  readonly api: ApiServer;
  readonly #sources: string[] = [];
  readonly pipelines: string[] = [];

  private constructor(api: ApiServer) {
    this.api = api;
  }

  static async start(): Promise<World> {
    const api = await startApiServer({
      flags: ['--max-requests-inflight=800', '--max-mutating-requests-inflight=400'],
    });
    const world = new World(api);
    await installCrds(api);
    for (const namespace of [OPERATOR_NAMESPACE, NAMESPACE])
      await world.post('/api/v1/namespaces', { metadata: { name: namespace } });
    await world.post(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: 'default' } });
    return world;
  }

  /** Makes the Pipelines, and the LiveSources spread over them. */
  async fill({ pipelines, sources, interval }: Filling): Promise<void> {
    for (let n = 0; n < pipelines; n++) this.pipelines.push(`pipeline-${n}`);
    await each(this.pipelines, (name) => this.post(this.path('pipelines'), pipeline(name)));
    for (let n = 0; n < sources; n++) this.#sources.push(`source-${n}`);
    await each(this.#sources, (name, n) =>
      this.post(this.path('livesources'), source(name, this.pipelines[n % pipelines]!, interval)),
    );
  }

  async apply(name: string, pipelineName: string): Promise<void> {
    await this.post(this.path('livesources'), source(name, pipelineName, '24h'));
  }

  async editIntervals(interval: string): Promise<void> {
    await each(this.#sources, (name) => this.patch(this.path('livesources', name), { spec: { interval } }));
  }

  keyOf(pipelineName: string): string {
    return `${NAMESPACE}/${pipelineName}`;
  }

  path(plural: string, name = ''): string {
    const root = plural === 'pods' || plural === 'serviceaccounts' ? '/api/v1' : GROUP;
    return `${root}/namespaces/${NAMESPACE}/${plural}${name && `/${name}`}`;
  }

  async post(path: string, body: object): Promise<unknown> {
    const answer = await this.api.ask('POST', path, body);
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async patch(path: string, body: object): Promise<void> {
    const answer = await this.api.ask('PATCH', path, body, { contentType: 'application/merge-patch+json' });
    if (answer.status !== 200) throw new Error(`PATCH ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  stop(): Promise<void> {
    return this.api.stop();
  }
}

const meta = (name: string) => ({ metadata: { name, namespace: NAMESPACE } });

const pipeline = (name: string) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Pipeline',
  ...meta(name),
  spec: {
    state: { postgres: { urlFrom: { secretKeyRef: { name: 'index-db', key: 'url' } } } },
    runners: [{ name: 'default', slots: 64, replicas: { min: 1, max: 1 } }],
    component: { steps: [{ read: {} }, { split: { by: 'text' } }, { export: { target: 'rows' } }] },
    targets: [
      { name: 'rows', postgres: { urlFrom: { secretKeyRef: { name: 'index-db', key: 'url' } }, table: 'rows' } },
    ],
  },
});

const source = (name: string, pipelineName: string, interval: string) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'LiveSource',
  ...meta(name),
  spec: {
    pipelineRef: { name: pipelineName },
    source: { git: { url: `https://git.example.com/team/${name}.git`, ref: 'main', include: ['src/**', 'docs/**'] } },
    interval,
  },
});

async function each<T>(all: readonly T[], write: (one: T, n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < all.length) {
      const n = next++;
      await write(all[n]!, n);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}
