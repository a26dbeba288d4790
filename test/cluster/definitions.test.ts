// An operator on a cluster whose definitions are not there, or are those of an earlier version: it says so, waits, and works once they are right.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Crd, emitCrds } from '../../crds/emit/index.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { eventually } from '../support/eventually.ts';
import { wholeOperator } from '../support/operator.ts';

const PORT = 17_471;
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'fairlead' } });
  const spec = { containers: [{ name: 'a', image: 'a' }] };
  await server.ask('POST', '/api/v1/namespaces/fairlead/pods', { metadata: { name: 'op-0' }, spec });
});
afterAll(() => server?.stop());

/** Of an earlier version, which had no `resourceName`. */
function olderCrd(crd: Crd): Crd {
  const text = JSON.stringify(crd, (key, value: unknown) => (key === 'resourceName' ? undefined : value));
  return JSON.parse(text) as Crd;
}

async function probe(path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`http://127.0.0.1:${PORT + 1}${path}`);
  return { status: answer.status, text: await answer.text() };
}

test('waits for definitions that have all its fields, without ending, and names what is missing', async () => {
  const { made, ended, said } = wholeOperator({ url: server.url, token: server.token, name: 'op-0', port: PORT });
  const started = made.start();
  const saysInTime = (text: string) =>
    eventually(
      () => said,
      (all) => all.some((line) => line.includes(text)),
      text,
    );
  try {
    await saysInTime('the cluster does not serve Pipeline of fairlead.dev/v1alpha1: install the definitions');
    for (const crd of emitCrds()) expect((await server.ask('POST', DEFINITIONS, olderCrd(crd))).status).toBe(201);
    const lacks = 'the definition of Pipeline is older than this operator: it lacks spec.runners[].resourceName';
    await saysInTime(lacks);
    expect(await probe('/readyz')).toEqual({ status: 503, text: expect.stringContaining(lacks) });
    expect((await probe('/startedz')).status, 'a restart would be of no use').toBe(200);

    for (const crd of emitCrds()) {
      const path = `${DEFINITIONS}/${crd.metadata.name}`;
      const merge = { contentType: 'application/merge-patch+json' };
      expect((await server.ask('PATCH', path, { spec: crd.spec }, merge)).status).toBe(200);
    }
    await started;
    await eventually(() => made.isLeading, Boolean, 'it leads');
    expect((await probe('/readyz')).status).toBe(200);
    expect(ended).toEqual([]);
  } finally {
    await made.stop();
  }
});
