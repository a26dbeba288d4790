// Two whole operators on a real API server: one leads, the other takes over; and who may open a stream.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../operator/clock.ts';
import { CertificateKeeper, Connection, type KubeApi, TokenReviewer } from '../../operator/cluster/index.ts';
import { SILENT } from '../../operator/log.ts';
import type { PodObject, StoredObject } from '../../operator/reconcile/index.ts';
import { Operator } from '../../operator/service/index.ts';
import { parseSettings } from '../../operator/settings.ts';
import { MINIMAL_PIPELINE } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { apiOf, kubeConfigOf } from '../support/operator.ts';

let server: ApiServer;
let api: KubeApi & { close(): Promise<void> };

beforeAll(async () => {
  server = await startApiServer();
  await installCrds(server);
  api = apiOf(server.url, server.token);
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'fairlead' } });
});
afterAll(async () => {
  await api?.close();
  await server?.stop();
});

const pod = (name: string, labels: Record<string, string> = {}, more: object = {}) => ({
  metadata: { name, labels, ...more },
  spec: { serviceAccountName: 'default', containers: [{ name: 'a', image: 'a' }] },
});

async function operator(name: string, port: number) {
  await server.ask('POST', '/api/v1/namespaces/fairlead/pods', pod(name));
  const flags = {
    service: 'fairlead.fairlead.svc:7443',
    runnerImage: 'a',
    linkPort: `${port}`,
    httpPort: `${port + 1}`,
  };
  const parsed = parseSettings(flags, { FAIRLEAD_POD_NAME: name, FAIRLEAD_POD_NAMESPACE: 'fairlead' });
  if (parsed.kind === 'refused') throw new Error(parsed.problems.join());
  const ended: string[] = [];
  const made = new Operator({
    settings: parsed.settings,
    connection: new Connection(kubeConfigOf(server.url, server.token)),
    clock: systemClock,
    random: Math.random,
    log: SILENT,
    environment: {},
    version: 'test',
    ended: (why) => ended.push(why),
  });
  await made.start();
  return { made, ended };
}

const isLabelled = async (name: string): Promise<boolean> => {
  const { body } = await server.ask('GET', `/api/v1/namespaces/fairlead/pods/${name}`);
  return (body as StoredObject).metadata.labels?.['fairlead.dev/leader'] === 'true';
};

describe('two operators', () => {
  test('one leads and carries the label; when it is told to end the other leads, with the same authority', async () => {
    const first = await operator('op-0', 17_443);
    await eventually(() => first.made.isLeading && isLabelled('op-0'), Boolean, 'the first leads');
    const caOf = async () =>
      (
        await new CertificateKeeper(
          api,
          { namespace: 'fairlead', name: 'fairlead-link' },
          'fairlead.fairlead.svc',
        ).ensure()
      ).ca;
    const ca = await caOf();
    const second = await operator('op-1', 17_453);
    expect(second.made.isLeading).toBe(false);
    await first.made.stop();
    await eventually(() => second.made.isLeading && isLabelled('op-1'), Boolean, 'the second leads');
    expect(await isLabelled('op-0')).toBe(false);
    expect(await caOf()).toBe(ca);
    expect([...first.ended, ...second.ended]).toEqual([]);
    await second.made.stop();
  });
});

describe('who may open a stream', () => {
  const labels = (uid: string) => ({ 'fairlead.dev/owner-uid': uid, 'app.kubernetes.io/component': 'runner' });

  async function runnerPod(name: string, pipeline: StoredObject): Promise<PodObject> {
    const { uid = '' } = pipeline.metadata;
    const owner = {
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Pipeline',
      name: pipeline.metadata.name,
      uid,
      controller: true,
    };
    const body = pod(name, labels(uid), { ownerReferences: [owner] });
    const made = await server.ask('POST', '/api/v1/namespaces/default/pods', body);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body as PodObject;
  }

  async function tokenOf(of: PodObject, audience = 'fairlead'): Promise<string> {
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: of.metadata.name, uid: of.metadata.uid };
    const spec = { audiences: [audience], expirationSeconds: 600, boundObjectRef };
    await server.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const answer = await server.ask('POST', path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec,
    });
    return (answer.body as { status: { token: string } }).status.token;
  }

  test('a runner pod of a Pipeline, for that Pipeline under its own name; a pod that is gone is refused at once', async () => {
    const made = await server.ask('POST', '/apis/fairlead.dev/v1alpha1/namespaces/default/pipelines', {
      ...MINIMAL_PIPELINE,
      metadata: { name: 'index' },
    });
    const pipeline = made.body as StoredObject;
    const runner = await runnerPod('index-default-0', pipeline);
    const pods = new Map([['default/index-default-0', runner]]);
    const reviewer = new TokenReviewer({
      api,
      audience: 'fairlead',
      pod: (key) => pods.get(key),
      pipeline: (key) => (key === 'default/index' ? pipeline : undefined),
    });
    const token = await tokenOf(runner);
    const accepted = await reviewer.authenticate(token);
    expect(accepted.kind, JSON.stringify(accepted)).toBe('accepted');
    if (accepted.kind !== 'accepted') return;
    const { mayServe } = accepted.identity;
    expect([
      mayServe('default/index', 'index-default-0'),
      mayServe('default/index', 'another'),
      mayServe('other/index', 'index-default-0'),
    ]).toEqual([true, false, false]);
    pods.clear(); // the cache saw its end; the API server still accepts the token
    expect(await reviewer.authenticate(token)).toMatchObject({ kind: 'refused' });
    pods.set('default/index-default-0', { ...runner, metadata: { ...runner.metadata, uid: 'another' } });
    expect(await reviewer.authenticate(token)).toMatchObject({ kind: 'refused' });
  });

  test('a token for another audience, and what is no token, are refused with the reason', async () => {
    const reviewer = new TokenReviewer({ api, audience: 'fairlead', pod: () => undefined, pipeline: () => undefined });
    expect(await reviewer.authenticate('nonsense')).toMatchObject({ kind: 'refused' });
    expect(await reviewer.authenticate(server.token)).toMatchObject({ kind: 'refused' });
  });
});
