// The generated CRDs on a real API server: it takes them without a warning, refuses what the table says with a message that names
// the field, and agrees with the local check line by line.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { emitCrds } from '../../crds/emit/index.ts';
import { fitStatus, GROUP, KINDS, type KindName, STATUS_MAX_BYTES, VERSION } from '../../crds/schema/index.ts';
import { CARD_PIPELINE, changed, LINES, MINIMAL_PIPELINE, MINIMAL_SOURCE, type Plain } from '../crds/objects.ts';
import { type Answer, type ApiServer, startApiServer } from '../support/apiserver.ts';
import { installCrds } from '../support/crds.ts';

let api: ApiServer;

beforeAll(async () => {
  api = await startApiServer();
  await installCrds(api);
  await api.ask('POST', '/api/v1/namespaces', { metadata: { name: 'search' } });
});
afterAll(() => api?.stop());

const pathOf = (object: Plain): string =>
  `/apis/${GROUP}/${VERSION}/namespaces/default/${KINDS[object.kind as KindName].plural}`;

const tried = (object: Plain): Promise<Answer> =>
  api.ask('POST', `${pathOf(object)}?dryRun=All&fieldValidation=Strict`, object);

const messageOf = (answer: Answer): string => String((answer.body as { message?: unknown }).message ?? answer.body);

describe('the CRDs', () => {
  for (const crd of emitCrds()) {
    test(`${crd.metadata.name} is accepted under strict validation without a warning`, async () => {
      const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`;
      const { body } = await api.ask('GET', path);
      const { resourceVersion } = (body as { metadata: { resourceVersion: string } }).metadata;
      const again = { ...crd, metadata: { ...crd.metadata, resourceVersion } };
      const answer = await api.ask('PUT', `${path}?dryRun=All&fieldValidation=Strict`, again);
      expect(answer).toMatchObject({ status: 200, warnings: [] });
    });
  }

  test('are structural: the API server says so itself', async () => {
    const { body } = await api.ask('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    const { items } = body as { items: { status: { conditions: { type: string; status: string }[] } }[] };
    for (const { status } of items) {
      expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }));
      expect(status.conditions.map((condition) => condition.type)).not.toContain('NonStructuralSchema');
    }
  });

  test('are small enough for kubectl apply, which keeps a copy in an annotation of at most 256 KiB', () => {
    for (const crd of emitCrds()) expect(JSON.stringify(crd).length).toBeLessThan(256 * 1024);
  });
});

describe('the API server', () => {
  for (const [sentence, { object, refused, onlyHere }] of Object.entries(LINES)) {
    if (refused === undefined || onlyHere) {
      test(`accepts ${sentence}`, async () => {
        const answer = await tried(object);
        expect({ status: answer.status, message: messageOf(answer), warnings: answer.warnings }).toMatchObject({
          status: 201,
          warnings: [],
        });
      });
      continue;
    }
    test(`refuses ${sentence}, naming ${refused.field}`, async () => {
      const answer = await tried(object);
      expect([400, 422]).toContain(answer.status);
      expect(messageOf(answer)).toContain(refused.field);
      if (refused.says !== undefined) expect(messageOf(answer)).toContain(refused.says);
    });
  }
});

describe('edits', () => {
  const edited = async (before: Plain, after: Plain): Promise<Answer> => {
    const name = `edit-${Math.random().toString(36).slice(2, 10)}`;
    const named = (object: Plain): Plain => changed(object, { 'metadata.name': name });
    const created = await api.ask('POST', pathOf(before), named(before));
    expect(messageOf(created)).not.toContain('invalid');
    const { resourceVersion } = (created.body as { metadata: { resourceVersion: string } }).metadata;
    const path = `${pathOf(before)}/${name}?fieldValidation=Strict`;
    return api.ask('PUT', path, changed(named(after), { 'metadata.resourceVersion': resourceVersion }));
  };
  const source = (changes: Plain): Plain => changed(MINIMAL_SOURCE, changes);
  const onPostgres = changed(MINIMAL_PIPELINE, { 'spec.state': { postgres: { urlFrom: { env: 'URL' } } } });

  test('pipelineRef cannot be changed', async () => {
    const answer = await edited(source({}), source({ 'spec.pipelineRef.name': 'other' }));
    expect(answer.status).toBe(422);
    expect(messageOf(answer)).toContain(
      'spec.pipelineRef: Forbidden: pipelineRef cannot be changed: make another LiveSource',
    );
  });

  test('the kind of source cannot be changed', async () => {
    const answer = await edited(source({}), source({ 'spec.source': { directory: { path: '/a' } } }));
    expect(answer.status).toBe(422);
    expect(messageOf(answer)).toContain(
      'spec.source: Forbidden: the kind of source cannot be changed: make another LiveSource',
    );
  });

  test('the settings of a source can be changed', async () => {
    const answer = await edited(
      source({}),
      source({ 'spec.source.git.url': 'https://example.com/b.git', 'spec.weight': 5 }),
    );
    expect(answer.status).toBe(200);
  });

  test('the kind of state cannot be changed while the Pipeline works', async () => {
    const answer = await edited(MINIMAL_PIPELINE, onPostgres);
    expect(answer.status).toBe(422);
    expect(messageOf(answer)).toContain(
      'spec.state: Forbidden: the kind of state can be changed only while suspend is true',
    );
  });

  test('the kind of state cannot be changed in the same edit that suspends', async () => {
    expect((await edited(MINIMAL_PIPELINE, changed(onPostgres, { 'spec.suspend': true }))).status).toBe(422);
  });

  test('the kind of state can be changed while the Pipeline is suspended', async () => {
    const suspended = { 'spec.suspend': true };
    expect((await edited(changed(MINIMAL_PIPELINE, suspended), changed(onPostgres, suspended))).status).toBe(200);
  });

  test('the address of a Postgres state can be changed', async () => {
    const moved = changed(onPostgres, { 'spec.state.postgres.urlFrom': { env: 'OTHER' } });
    expect((await edited(onPostgres, moved)).status).toBe(200);
  });
});

describe('defaults', () => {
  test('are filled in by the API server as the schema fills them in here', async () => {
    const { parsePipeline, parseLiveSource } = await import('../../crds/schema/index.ts');
    for (const object of [MINIMAL_PIPELINE, CARD_PIPELINE, MINIMAL_SOURCE]) {
      const { body } = await tried(object);
      const here = object.kind === 'Pipeline' ? parsePipeline(object) : parseLiveSource(object);
      expect(here.ok && here.value.spec).toEqual((body as { spec: unknown }).spec);
    }
  });

  test('maxInflightComponents has none: the operator resolves it', async () => {
    const { body } = await tried(MINIMAL_PIPELINE);
    expect((body as { spec: Plain }).spec).not.toHaveProperty('maxInflightComponents');
  });
});

describe('status', () => {
  const time = '2030-01-31T12:00:00.000Z';
  const status = {
    observedGeneration: 1,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: 'All is well.',
        lastTransitionTime: time,
        observedGeneration: 1,
      },
    ],
    slots: { limit: 1024, held: 3, waiting: 5, inFlight: 9 },
    cards: { total: 4, heldMilli: 1500, waiting: 1, summary: '1.5/4' },
    items: { total: 10, done: 3, summary: '3/10' },
    freshness: { oldestChangeAt: new Date(Date.now() - 3 * 86_400_000).toISOString() },
  };

  test('is written through its subresource only, checked, and printed in the columns', async () => {
    const object = changed(CARD_PIPELINE, { 'metadata.name': 'with-status', status: { slots: { held: 99 } } });
    await api.ask('POST', pathOf(object), object);
    const path = `${pathOf(object)}/with-status`;
    const first = await api.ask('GET', path);
    expect(first.body).not.toHaveProperty('status');
    const merge = { contentType: 'application/merge-patch+json' };
    expect((await api.ask('PATCH', `${path}/status`, { status }, merge)).status).toBe(200);
    const { stdout } = await api.kubectl(['get', 'fpl', 'with-status', '--no-headers']);
    expect(stdout.trim().split(/\s+/).slice(0, -1)).toEqual(['with-status', 'True', '3', '5', '1.5/4', '3d', '3/10']);
    const wrong = await api.ask('PATCH', `${path}/status`, { status: { slots: { held: -1 } } }, merge);
    expect(messageOf(wrong)).toContain('status.slots.held');
  });

  test('of the largest size that fitStatus lets through is accepted', async () => {
    const object = changed(MINIMAL_SOURCE, { 'metadata.name': 'large-status' });
    await api.ask('POST', pathOf(object), object);
    const update = {
      name: 'n'.repeat(128),
      kind: 'Cycle',
      source: 'large-status',
      trigger: 'interval',
      result: 'Failed',
      startedAt: time,
      endedAt: time,
      counts: { unchanged: Number.MAX_SAFE_INTEGER, failed: 1 },
      traceId: 'a'.repeat(32),
      message: 'm'.repeat(512),
    } as const;
    const large = fitStatus({ ...status, updates: Array.from({ length: 10 }, () => update) });
    expect(JSON.stringify(large).length).toBeLessThanOrEqual(STATUS_MAX_BYTES);
    const answer = await api.ask(
      'PATCH',
      `${pathOf(object)}/large-status/status?fieldValidation=Strict`,
      { status: large },
      {
        contentType: 'application/merge-patch+json',
      },
    );
    expect({ status: answer.status, warnings: answer.warnings }).toEqual({ status: 200, warnings: [] });
  });

  test('conditions of several writers live side by side under server-side apply', async () => {
    const object = changed(MINIMAL_SOURCE, { 'metadata.name': 'two-writers' });
    await api.ask('POST', pathOf(object), object);
    const applied = (manager: string, type: string): Promise<Answer> =>
      api.ask(
        'PATCH',
        `${pathOf(object)}/two-writers/status?fieldManager=${manager}&force=true`,
        {
          apiVersion: object.apiVersion,
          kind: object.kind,
          metadata: { name: 'two-writers' },
          status: { conditions: [{ type, status: 'True', reason: type, message: '', lastTransitionTime: time }] },
        },
        { contentType: 'application/apply-patch+yaml' },
      );
    await applied('one', 'Ready');
    const { body } = await applied('two', 'Synced');
    const { conditions } = (body as { status: { conditions: { type: string }[] } }).status;
    expect(conditions.map((condition) => condition.type).toSorted()).toEqual(['Ready', 'Synced']);
  });

  test('LiveSources are selected by their Pipeline', async () => {
    const other = changed(MINIMAL_SOURCE, { 'metadata.name': 'of-another', 'spec.pipelineRef.name': 'another' });
    await api.ask('POST', pathOf(other), other);
    const { stdout } = await api.kubectl([
      'get',
      'fls',
      '-o',
      'name',
      '--field-selector',
      'spec.pipelineRef.name=another',
    ]);
    expect(stdout).toBe('livesource.fairlead.dev/of-another\n');
  });
});

describe('examples', () => {
  const folders = [...readdirSync('examples').map((name) => `examples/${name}`), 'docs/reference/every-field'];
  for (const folder of folders) {
    test(`${folder} applies with kubectl without a warning`, async () => {
      const { code, stderr, stdout } = await api.kubectl([
        'apply',
        '--dry-run=server',
        '--validate=strict',
        '-f',
        folder,
      ]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.trim().split('\n').length).toBeGreaterThan(0);
    });
  }

  test('the plain manifests are what the schema says', () => {
    for (const crd of emitCrds())
      expect(parse(readFileSync(`crds/manifests/${crd.metadata.name}.yaml`, 'utf8'))).toEqual(
        JSON.parse(JSON.stringify(crd)),
      );
  });
});

describe('kubectl', () => {
  test('explains a field with what it is, its unit and what its absence means', async () => {
    const { stdout } = await api.kubectl(['explain', 'pipeline.spec.maxInflightComponents']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'FIELD: maxInflightComponents <integer> DESCRIPTION: Slots: how many component runs execute at once, over all runners. Absent: the variable FAIRLEAD_MAX_INFLIGHT_COMPONENTS',
    );
  });

  test('explains every object down to its leaves, and marks what is required', async () => {
    const { stdout } = await api.kubectl(['explain', 'fpl.spec', '--recursive']);
    for (const line of ['component\t<Object> -required-', 'steps\t<[]Object> -required-', 'enum: text, markdown, code'])
      expect(stdout).toContain(line);
    expect(stdout).not.toContain('<no description>');
  });

  test('lists both kinds by category and short name', async () => {
    const { stdout } = await api.kubectl(['api-resources', '--api-group', GROUP, '--no-headers', '-o', 'wide']);
    expect(stdout).toMatch(/livesources\s+fls\s+fairlead\.dev\/v1alpha1\s+true\s+LiveSource\s.*fairlead/);
    expect(stdout).toMatch(/pipelines\s+fpl\s+fairlead\.dev\/v1alpha1\s+true\s+Pipeline\s.*fairlead/);
  });
});
