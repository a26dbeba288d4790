// Commands that act on a cluster, as processes with a kubeconfig, on a real API server: what they ask for stands in the objects, and who may not is told.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { MINIMAL_PIPELINE, MINIMAL_SOURCE, type Plain } from '../crds/objects.ts';
import { type ApiServer, startApiServer } from '../support/apiserver.ts';
import { type CommandResult, command } from '../support/command.ts';
import { installCrds } from '../support/crds.ts';
import { kubeConfigOf } from '../support/operator.ts';
import { temporaryFolder } from '../support/temporary.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

type Seen = {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly suspend?: boolean };
};

let server: ApiServer;
let namespace: string;
let namespaces = 0;
const cwd = temporaryFolder();

beforeAll(async () => {
  server = await startApiServer();
  await installCrds(server);
  writeFileSync(join(cwd, 'kubeconfig'), kubeConfigOf(server.url, server.token).exportConfig());
});
afterAll(async () => {
  await server?.stop();
});
beforeEach(async () => {
  namespace = `commands-${++namespaces}`;
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  await make(MINIMAL_PIPELINE, 'index');
  for (const name of ['docs', 'tickets']) await make(MINIMAL_SOURCE, name, { pipelineRef: { name: 'index' } });
});

const pathOf = (plural: string, name = ''): string =>
  `/apis/fairlead.dev/v1alpha1/namespaces/${namespace}/${plural}${name === '' ? '' : `/${name}`}`;

async function make(object: Plain, name: string, spec: Plain = {}): Promise<void> {
  const plural = object.kind === 'Pipeline' ? 'pipelines' : 'livesources';
  const body = { ...object, metadata: { name, namespace }, spec: { ...(object.spec as Plain), ...spec } };
  expect((await server.ask('POST', pathOf(plural), body)).status).toBe(201);
}

const see = async (plural: string, name: string): Promise<Seen> =>
  (await server.ask('GET', pathOf(plural, name))).body as Seen;

const fairlead = (...args: readonly string[]): Promise<CommandResult> =>
  command(args, { cwd, env: { KUBECONFIG: join(cwd, 'kubeconfig'), HOME: cwd, XDG_STATE_HOME: cwd } });

test('suspend and resume write the field of the object that they name, and of no other', async () => {
  expect(await fairlead('suspend', 'docs', '-n', namespace)).toMatchObject({
    code: 0,
    stdout: `livesource ${namespace}/docs: suspend asked for\n`,
  });
  expect((await see('livesources', 'docs')).spec.suspend).toBe(true);
  expect((await see('livesources', 'tickets')).spec.suspend).toBe(false);
  expect((await see('pipelines', 'index')).spec.suspend).toBe(false);
  expect((await fairlead('resume', 'docs', '-n', namespace)).code).toBe(0);
  expect((await see('livesources', 'docs')).spec.suspend).toBe(false);
});

test('refresh, reprocess and the release of what is quarantined become annotations with a value of their own', async () => {
  await Promise.all([
    fairlead('refresh', 'docs', '--allow-deletes', '-n', namespace),
    fairlead('reprocess', '-n', namespace),
    fairlead('quarantine', '--release', '-n', namespace),
  ]).then((all) => expect(all.map(({ code, stderr }) => code ?? stderr)).toEqual([0, 0, 0]));
  const ofSource = (await see('livesources', 'docs')).metadata.annotations ?? {};
  const ofPipeline = (await see('pipelines', 'index')).metadata.annotations ?? {};
  expect(Object.keys(ofSource).sort()).toEqual(['fairlead.dev/allow-deletes', 'fairlead.dev/refresh']);
  expect(Object.keys(ofPipeline).sort()).toEqual(['fairlead.dev/reprocess', 'fairlead.dev/retry-failed']);
  const first = ofPipeline['fairlead.dev/reprocess'];
  await fairlead('reprocess', '--pipeline', `${namespace}/index`);
  expect((await see('pipelines', 'index')).metadata.annotations?.['fairlead.dev/reprocess']).not.toBe(first);
});

test('errors say what is not there and how to go on', async () => {
  const [noSource, noOperator, doctor] = await Promise.all([
    fairlead('suspend', 'nobody', '-n', namespace),
    fairlead('verify', '-n', namespace),
    fairlead('doctor', '-n', namespace),
  ]);
  expect(noSource).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`no livesource nobody in namespace ${namespace}`),
  });
  expect(noOperator).toMatchObject({ code: 1, stderr: expect.stringContaining('no operator leads in this cluster') });
  expect(doctor).toMatchObject({ code: 1, stdout: expect.stringMatching(/BAD +operator +.*helm install/) });
});
