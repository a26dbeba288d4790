// `fairlead doctor` on a real API server: what it finds before an installation, with the definitions, and with objects nobody looks at.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examine } from '../../cli/remote/doctor.ts';
import type { Finding } from '../../cli/remote/finding.ts';
import { MINIMAL_PIPELINE } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { kubeConfigOf } from '../support/operator.ts';

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(async () => {
  await server?.stop();
});

const of = (findings: readonly Finding[], check: string): Finding | undefined =>
  findings.find((finding) => finding.check === check);

test('each thing that is missing is found by itself, with what to do', async () => {
  const before = await examine(kubeConfigOf(server.url, server.token), undefined);
  expect(of(before, 'API server')).toMatchObject({ verdict: 'ok', says: expect.stringContaining('clocks agree') });
  expect(of(before, 'pipelines.fairlead.dev')).toMatchObject({ verdict: 'bad', says: expect.stringContaining('CRDs') });
  expect(of(before, 'operator')).toMatchObject({ verdict: 'bad', says: expect.stringContaining('helm install') });

  await installCrds(server);
  const path = '/apis/fairlead.dev/v1alpha1/namespaces/default/pipelines';
  expect((await server.ask('POST', path, MINIMAL_PIPELINE)).status).toBe(201);
  const after = await examine(kubeConfigOf(server.url, server.token), 'default');
  expect(of(after, 'pipelines.fairlead.dev')).toMatchObject({ verdict: 'ok' });
  expect(of(after, 'your rights')).toMatchObject({ verdict: 'ok' });
  const name = (MINIMAL_PIPELINE.metadata as { name: string }).name;
  expect(of(after, `pipeline default/${name}`)).toMatchObject({
    verdict: 'bad',
    says: 'no operator has looked at it',
  });
});

test('an operator that may not do what it has to is found, with what it may not and where', async () => {
  const config = kubeConfigOf(server.url, server.token);
  const rights = async () => of(await examine(config, undefined), "operator's rights");
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'fairlead' } });
  const labels = {
    'app.kubernetes.io/name': 'fairlead',
    'app.kubernetes.io/component': 'operator',
    'fairlead.dev/leader': 'true',
  };
  const spec = { serviceAccountName: 'fairlead', containers: [{ name: 'operator', image: 'fairlead' }] };
  await server.ask('POST', '/api/v1/namespaces/fairlead/pods', { metadata: { name: 'op-0', labels }, spec });
  const account = 'system:serviceaccount:fairlead:fairlead';
  const lacking = await rights();
  expect(lacking?.verdict).toBe('bad');
  expect(lacking?.says).toMatch(
    new RegExp(`^${account} may not create tokenreviews, .*patch pipelines/status in default`),
  );

  const given = ['--clusterrole=cluster-admin', '--serviceaccount=fairlead:fairlead'];
  expect((await server.kubectl(['create', 'clusterrolebinding', 'all', ...given])).code).toBe(0);
  await eventually(rights, (found) => found?.verdict === 'ok', 'the rights are in force');
});
