// Two whole operators and a real runner link on a real API server: who leads, what an operator that lost the lead may still do (nothing), and
// whose streams stay open. There is no kubelet: the test plays it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CertificateKeeper, type KubeApi, LEASE_TIMES, type LeaseTimes } from '../../operator/cluster/index.ts';
import type { PodObject, StoredObject } from '../../operator/reconcile/index.ts';
import { type Connection, connect } from '../../runner/session/index.ts';
import { MINIMAL_PIPELINE, MINIMAL_SOURCE, type Plain } from '../crds/objects.ts';
import { FaultProxy } from '../fakes/fault-proxy.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/eventually.ts';
import { apiOf, type WholeOperator, wholeOperator } from '../support/operator.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';

let server: ApiServer;
let api: KubeApi & { close(): Promise<void> };
let folder: string;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startApiServer();
  await installCrds(server);
  api = apiOf(server.url, server.token);
  folder = mkdtempSync(join(tmpdir(), 'fairlead-leadership-'));
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'fairlead' } });
  await server.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
afterAll(async () => {
  await api?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const operatorPod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'a', image: 'a' }] } });

/** `times`: of the Lease; a test that waits until one expires makes them shorter. */
async function start(
  name: string,
  port: number,
  { url = server.url, times = LEASE_TIMES }: { url?: string; times?: LeaseTimes } = {},
): Promise<WholeOperator> {
  await server.ask('POST', '/api/v1/namespaces/fairlead/pods', operatorPod(name));
  const operator = wholeOperator({ url, token: server.token, name, port, leaseTimes: times });
  ends.push(() => operator.made.stop());
  await operator.made.start();
  return operator;
}

async function isLabelled(name: string): Promise<boolean> {
  const { body } = await server.ask('GET', `/api/v1/namespaces/fairlead/pods/${name}`);
  return (body as StoredObject).metadata.labels?.['fairlead.dev/leader'] === 'true';
}

const leads = (operator: WholeOperator, name: string): Promise<unknown> =>
  eventually(async () => operator.made.isLeading && (await isLabelled(name)), Boolean, `${name} leads`);

const authority = async () => {
  const secret = { namespace: 'fairlead', name: 'fairlead-link' };
  return (await new CertificateKeeper(api, secret, 'localhost').ensure()).ca;
};

/** A Pipeline with work, and the pod that its operator makes for it, which a kubelet that is played has started on a node. */
async function runnerPod(pipeline: string): Promise<PodObject> {
  const at = (plural: string) => `/apis/fairlead.dev/v1alpha1/namespaces/default/${plural}`;
  await server.ask('POST', at('pipelines'), { ...MINIMAL_PIPELINE, metadata: { name: pipeline } });
  const spec = { ...(MINIMAL_SOURCE.spec as Plain), pipelineRef: { name: pipeline } };
  await server.ask('POST', at('livesources'), { ...MINIMAL_SOURCE, metadata: { name: `${pipeline}-docs` }, spec });
  const pods = async () =>
    ((await server.ask('GET', '/api/v1/namespaces/default/pods')).body as { items: PodObject[] }).items.filter(
      ({ metadata }) => metadata.name.startsWith(`${pipeline}-`),
    );
  const [pod] = await eventually(pods, (all) => all.length === 1, 'a runner pod');
  const path = `/api/v1/namespaces/default/pods/${pod!.metadata.name}`;
  await server.ask('POST', `${path}/binding`, {
    metadata: { name: pod!.metadata.name },
    target: { kind: 'Node', name: 'node-a' },
  });
  await server.ask('PATCH', `${path}/status`, { status: { phase: 'Running' } }, MERGE);
  return pod!;
}

const MERGE = { contentType: 'application/merge-patch+json' };

async function tokenFile({ metadata: { name, uid } }: PodObject): Promise<string> {
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
  const spec = { audiences: ['fairlead'], expirationSeconds: 600, boundObjectRef };
  const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
  const answer = await server.ask('POST', path, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });
  const file = join(folder, `token-of-${name}`);
  writeFileSync(file, (answer.body as { status: { token: string } }).status.token);
  return file;
}

interface DialledRunner {
  readonly connection: Connection;
  readonly engine: ScriptedRunner;
  readonly epochs: number[];
  readonly notes: string[];
}

/** The runner of a pod, as its process would dial; its engine executes nothing. */
async function dial(pipeline: string, pod: PodObject, ports: readonly number[]): Promise<DialledRunner> {
  const engine = new ScriptedRunner();
  const epochs: number[] = [];
  const notes: string[] = [];
  const connection = connect({
    engine,
    identity: { runner: pod.metadata.name, pipeline, runnerClass: 'default', slots: 64, gpus: 0 },
    addresses: ports.map((port) => `https://localhost:${port}`),
    ca: await authority(),
    tokenFile: await tokenFile(pod),
    onSpecs: () => {},
    onOpened: (epoch) => epochs.push(epoch),
    onNote: (text) => notes.push(text),
  });
  ends.push(() => connection.close());
  return { connection, engine, epochs, notes };
}

describe('two operators', () => {
  test('a lead that is let go is taken at once, not at the next look, under the same authority', async () => {
    const first = await start('op-0', 17_443);
    await leads(first, 'op-0');
    const ca = await authority();
    // It looks again only in an hour: what makes it lead is the Lease that it watches.
    const hour = 3_600_000;
    const times = { durationMs: 3 * hour, renewDeadlineMs: 2 * hour, retryMs: hour };
    const second = await start('op-1', 17_453, { times });
    expect(second.made.isLeading).toBe(false);
    await first.made.stop();
    await leads(second, 'op-1');
    expect(await authority()).toBe(ca);
    expect([...first.ended, ...second.ended]).toEqual([]);
  });

  test('one that is cut off stops leading, closes its streams, and writes nothing when it is back; the runner goes on with the other', async () => {
    const proxy = new FaultProxy(server.url);
    // As short as a machine that is busy with other things lets a leader live.
    const times = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 1_000 };
    const first = await start('op-2', 17_463, { url: await proxy.start(), times });
    ends.unshift(() => proxy.stop()); // after the operator behind it
    await leads(first, 'op-2');
    const pod = await runnerPod('cut-off');
    const runner = await dial('default/cut-off', pod, [17_463, 17_473]);
    await eventually(
      () => runner.epochs.length,
      (n) => n === 1,
      'the runner joins the first',
    );
    await eventually(
      () => runner.engine.paths().length,
      (n) => n === 1,
      'it executes the first cycle',
    );
    const run = runner.engine.runAt('cut-off-docs');
    const second = await start('op-3', 17_473, { times });
    proxy.goDown();
    await eventually(
      () => first.ended,
      (why) => why.length > 0,
      'the first ends',
    );
    expect(first.ended[0]).toContain('the lead was lost');
    await leads(second, 'op-3');
    // D4: it could not take the label off itself, and runners are not to be sent to it any more.
    await eventually(
      () => isLabelled('op-2'),
      (has) => !has,
      'the first has lost the label',
    );
    await eventually(
      () => runner.epochs,
      (seen) => seen.length > 1,
      'the runner joins the second',
    );
    expect(runner.epochs.at(-1)).toBeGreaterThan(runner.epochs[0]!);
    expect(runner.engine.running.has(run)).toBe(true); // it went on all the time
    expect(runner.engine.cancels.size).toBe(0);
    proxy.calls.length = 0;
    proxy.comeUp();
    await eventually(
      () => proxy.calls,
      (calls) => calls.some(({ kind }) => kind === 'watch'),
      'the first is back',
    );
    expect(first.made.isLeading).toBe(false);
    expect(proxy.calls.filter(({ method }) => method !== 'GET')).toEqual([]);
  });
});

describe('a stream', () => {
  test('F89: ends when its pod is gone, though the API server still takes the token; nobody comes back under that name', async () => {
    const operator = await start('op-4', 17_483);
    await leads(operator, 'op-4');
    const pod = await runnerPod('gone');
    const runner = await dial('default/gone', pod, [17_483]);
    await eventually(
      () => runner.epochs.length,
      (n) => n === 1,
      'the runner joins',
    );
    const path = `/api/v1/namespaces/default/pods/${pod.metadata.name}`;
    await server.ask('DELETE', path, { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 });
    await eventually(
      () => operator.said.filter((line) => line.startsWith('a stream was refused')),
      (lines) => lines.some((line) => line.includes('is not a runner pod that is known here')),
      'the runner is refused',
    );
    // Deleted by force: nothing proves that its container ended, so what it had stays held.
    expect(operator.said.some((line) => line.startsWith('a runner is silent'))).toBe(true);
    expect(operator.said.some((line) => line.startsWith('a runner left'))).toBe(false);
  });

  test('of a pod whose kubelet says that it ended is over, and its runs are given to others', async () => {
    const operator = await start('op-5', 17_493);
    await leads(operator, 'op-5');
    const pod = await runnerPod('ended');
    const runner = await dial('default/ended', pod, [17_493]);
    await eventually(
      () => runner.epochs.length,
      (n) => n === 1,
      'the runner joins',
    );
    const path = `/api/v1/namespaces/default/pods/${pod.metadata.name}/status`;
    await server.ask('PATCH', path, { status: { phase: 'Failed', reason: 'Evicted' } }, MERGE);
    const left = await eventually(
      () => operator.said.find((line) => line.startsWith('a runner left')),
      Boolean,
      'its session ends',
    );
    expect(left).toContain('its pod is gone');
  });
});

test('the times of the Lease leave room for a slow turn of the event loop', () => {
  const { durationMs, renewDeadlineMs, retryMs } = LEASE_TIMES;
  expect([renewDeadlineMs < durationMs, retryMs * 3 <= renewDeadlineMs]).toEqual([true, true]);
});
