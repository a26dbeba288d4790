// Who may open a stream: tokens of a real API server, checked against the pod that they are bound to and its own Pipeline.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KubeApi, TokenReviewer } from '../../operator/cluster/index.ts';
import type { PodObject, StoredObject } from '../../operator/reconcile/index.ts';
import { MINIMAL_PIPELINE } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { apiOf } from '../support/operator.ts';

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
