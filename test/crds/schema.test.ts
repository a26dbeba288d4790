// What the schema promises beyond the table of objects.
import { describe, expect, test } from 'vitest';
import {
  allSteps,
  clipMessage,
  EMBEDDERS,
  embedderOf,
  fitStatus,
  type LimitsSpec,
  nearest,
  type Pipeline,
  type PipelineStatus,
  parseLiveSource,
  parsePipeline,
  pipelineStatus,
  readStored,
  resolveInflight,
  resolveMaxInflightComponents,
  SOURCE_KINDS,
  STATUS_MAX_BYTES,
  sourceOf,
  stateOf,
  TARGET_KINDS,
  targetOf,
  type UpdateStatus,
  VERBS,
  verbOf,
} from '../../crds/schema/index.ts';
import { CARD_PIPELINE, changed, MINIMAL_PIPELINE, MINIMAL_SOURCE, type Plain } from './objects.ts';

function pipelineOf(object: Plain): Pipeline {
  const parsed = parsePipeline(object);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

describe('maxInflightComponents', () => {
  const resolve = (spec: unknown, variable?: string) =>
    resolveMaxInflightComponents(
      spec === undefined ? {} : { maxInflightComponents: spec },
      variable === undefined ? {} : { FAIRLEAD_MAX_INFLIGHT_COMPONENTS: variable },
    );

  test('the spec wins over the variable, the variable over 1024', () => {
    expect(resolve(8, '16')).toEqual({ kind: 'value', value: 8, from: 'spec' });
    expect(resolve(undefined, '16')).toEqual({ kind: 'value', value: 16, from: 'variable' });
    expect(resolve(undefined)).toEqual({ kind: 'value', value: 1024, from: 'default' });
  });

  test('a wrong variable is no matter where the spec has a value', () => {
    expect(resolve(8, 'many')).toMatchObject({ kind: 'value', value: 8 });
  });

  for (const variable of ['', '0', '-1', '1.5', '1e3', 'many', '1000001', '99999999999999999999', '0x10', '1_000'])
    test(`the variable ${JSON.stringify(variable)} is refused by name`, () => {
      expect(resolve(undefined, variable)).toEqual({
        kind: 'refused',
        message: `FAIRLEAD_MAX_INFLIGHT_COMPONENTS must be an integer from 1 to 1,000,000, not ${JSON.stringify(variable)}`,
      });
    });

  for (const written of [0, -1, 1.5, Number.NaN, 1_000_001, '8', null])
    test(`the spec's ${JSON.stringify(written)} is refused by name`, () => {
      expect(resolve(written, '16')).toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('spec.maxInflightComponents must be an integer from 1 to 1,000,000'),
      });
    });

  test('its bounds are allowed', () => {
    expect([resolve(1), resolve(1_000_000), resolve(undefined, ' 7 ')].map((one) => one.kind)).toEqual([
      'value',
      'value',
      'value',
    ]);
  });
});

describe('rows and bytes in flight', () => {
  const rowsVariable = 'FAIRLEAD_SOURCE_MAX_INFLIGHT_ROWS';
  const bytesVariable = 'FAIRLEAD_SOURCE_MAX_INFLIGHT_BYTES';

  test('each is that of the spec, else that of its variable, else not limited', () => {
    const limitsOf = (limits: LimitsSpec | undefined, env: Readonly<Record<string, string>>) =>
      resolveInflight({ limits }, env);
    expect(limitsOf(undefined, {})).toEqual({ kind: 'value', slotsMax: 1024, limits: {} });
    const both = { [rowsVariable]: '64', [bytesVariable]: '1Mi' };
    expect(limitsOf(undefined, both)).toMatchObject({ limits: { rows: 64, bytes: 1_048_576 } });
    expect(limitsOf({ maxInflightRows: 8 }, both)).toMatchObject({ limits: { rows: 8, bytes: 1_048_576 } });
    expect(limitsOf({ maxInflightBytes: '4Ki' }, { [bytesVariable]: 'much' })).toMatchObject({
      limits: { bytes: 4_096 },
    });
    expect(limitsOf(undefined, { [bytesVariable]: '5000000' })).toMatchObject({ limits: { bytes: 5_000_000 } });
  });

  for (const [variable, text, want] of [
    [rowsVariable, '', 'an integer from 1 to 100,000,000'],
    [rowsVariable, '0', 'an integer from 1 to 100,000,000'],
    [rowsVariable, '1Ki', 'an integer from 1 to 100,000,000'],
    [bytesVariable, '', 'a quantity from 1Ki to 1Pi'],
    [bytesVariable, '1000', 'a quantity from 1Ki to 1Pi'],
    [bytesVariable, '2Pi', 'a quantity from 1Ki to 1Pi'],
    [bytesVariable, '1 GB', 'a quantity from 1Ki to 1Pi'],
  ] as const)
    test(`${variable} ${JSON.stringify(text)} is refused by name`, () => {
      const message = `${variable} must be ${want}, not ${JSON.stringify(text)}`;
      expect(resolveInflight({}, { [variable]: text })).toEqual({ kind: 'refused', message });
    });
});

describe('an object of which one member is set', () => {
  test('is read as that member with its settings', () => {
    const { spec } = pipelineOf(CARD_PIPELINE);
    expect(spec.component.steps.map((step) => verbOf(step).kind)).toEqual([
      'read',
      'split',
      'embed',
      'forEach',
      'export',
    ]);
    expect(allSteps(spec.component)).toHaveLength(7);
    expect(stateOf(spec.state).kind).toBe('postgres');
    expect(targetOf(spec.targets[0]!)).toMatchObject({ kind: 'postgres', settings: { table: 'code_chunks' } });
    expect(embedderOf(spec.component.steps[2]!.embed!).kind).toBe('openai');
    const source = parseLiveSource(MINIMAL_SOURCE);
    expect(source.ok && sourceOf(source.value.spec.source).kind).toBe('git');
  });

  test('has exactly the members that the readers know', () => {
    const members = (problem: string) => /exactly one of (.*) must be set/.exec(problem)?.[1]?.split(', ').toSorted();
    const messageAt = (changes: Plain, object: Plain = MINIMAL_PIPELINE) => {
      const parsed =
        object === MINIMAL_PIPELINE
          ? parsePipeline(changed(object, changes))
          : parseLiveSource(changed(object, changes));
      return parsed.ok
        ? ''
        : (parsed.problems.map((problem) => problem.message).find((message) => message.startsWith('exactly')) ?? '');
    };
    expect(members(messageAt({ 'spec.component.steps.1': {} }))).toEqual(VERBS.toSorted());
    expect(members(messageAt({ 'spec.targets.0': { name: 'chunks' } }))).toEqual(TARGET_KINDS.toSorted());
    expect(members(messageAt({ 'spec.component.steps.1': { embed: {} } }))).toEqual(EMBEDDERS.toSorted());
    expect(members(messageAt({ 'spec.source': {} }, MINIMAL_SOURCE))).toEqual(SOURCE_KINDS.toSorted());
  });
});

describe('an object that the API server holds', () => {
  const newer = changed(CARD_PIPELINE, { 'spec.fromTheFuture': 1, 'spec.component.steps.0.read.alsoNew': {} });

  test('is read though it has fields of a newer version', () => {
    const parsed = readStored(newer, 'Pipeline');
    expect(parsed.ok && parsed.value.spec).toEqual(pipelineOf(CARD_PIPELINE).spec);
    expect(newer).toHaveProperty('spec.fromTheFuture', 1);
  });

  test('with a value of a newer version comes back as a problem with its field, never as a throw', () => {
    const parsed = readStored(changed(newer, { 'spec.deletionPolicy': 'Archive' }), 'Pipeline');
    expect(parsed).toEqual({
      ok: false,
      problems: [
        {
          path: ['spec', 'deletionPolicy'],
          message: 'must be one of Delete, Retain, not "Archive"',
        },
      ],
    });
  });

  for (const nonsense of [undefined, null, 3, 'x', [], {}, { spec: null }, { spec: [] }])
    test(`that is ${JSON.stringify(nonsense)} comes back as problems`, () => {
      expect(readStored(nonsense, 'Pipeline').ok).toBe(false);
      expect(readStored(nonsense, 'LiveSource').ok).toBe(false);
    });
});

describe('a status', () => {
  const time = '2030-01-31T12:00:00.000Z';
  const full = (updates: number, message: number): PipelineStatus => ({
    observedGeneration: 2,
    conditions: Array.from({ length: 7 }, (_, index) => ({
      type: `Condition${'x'.repeat(index)}`,
      status: 'True' as const,
      reason: 'WaitingForSlot',
      message: 'm'.repeat(200),
      lastTransitionTime: time,
      observedGeneration: 2,
    })),
    slots: { limit: 1024, held: 1024, waiting: 1_000_000, inFlight: 4096 },
    items: { total: 1_000_000, done: 999_999, pending: 1, failed: 0, quarantined: 0, summary: '999999/1000000' },
    updates: Array.from(
      { length: updates },
      (_, index): UpdateStatus => ({
        name: `repository-cycle-${index}`,
        kind: 'Cycle',
        source: 'repository',
        trigger: 'interval',
        result: 'CompletedWithErrors',
        startedAt: time,
        endedAt: time,
        duration: '1h30m',
        waited: '10m',
        counts: { unchanged: 1_000_000, added: 1, reprocessed: 2, deleted: 3, failed: 4, superseded: 5 },
        traceId: 'a'.repeat(32),
        message: 'e'.repeat(message),
      }),
    ),
  });
  const size = (status: unknown) => Buffer.byteLength(JSON.stringify(status));

  test('with a million items and ten updates stays within 8 KiB and keeps every update (S1)', () => {
    const fitted = fitStatus(full(10, 500));
    expect(size(full(10, 500))).toBeGreaterThan(STATUS_MAX_BYTES);
    expect(size(fitted)).toBeLessThanOrEqual(STATUS_MAX_BYTES);
    expect(fitted.updates).toHaveLength(10);
    expect(pipelineStatus.safeParse(fitted).success).toBe(true);
  });

  test('has messages that are cut between characters, never inside one', () => {
    const long = '😀'.repeat(600);
    expect([...clipMessage(long)]).toHaveLength(512);
    expect(clipMessage(long).endsWith('😀…')).toBe(true);
    expect(clipMessage('short')).toBe('short');
  });

  test('within bounds is left as it is', () => {
    const small = full(2, 10);
    expect(fitStatus(small)).toBe(small);
  });

  test('gives up its oldest updates before anything else when messages alone do not make it fit', () => {
    const wide = full(10, 0);
    const huge = { ...wide, conditions: wide.conditions?.map((one) => ({ ...one, message: 'm'.repeat(512) })) };
    const fitted = fitStatus(huge);
    expect(size(fitted)).toBeLessThanOrEqual(STATUS_MAX_BYTES);
    expect(fitted.updates?.[0]?.name).toBe('repository-cycle-0');
    expect(fitted.updates!.length).toBeLessThan(10);
    expect(fitted.conditions).toEqual(huge.conditions);
  });
});

describe('a misspelt word', () => {
  const fields = ['deletionPolicy', 'component', 'targets', 'limits', 'read', 'split', 'url', 'ref'];
  const table: Readonly<Record<string, string | undefined>> = {
    deletionPolcy: 'deletionPolicy',
    DeletionPolicy: 'deletionPolicy',
    targts: 'targets',
    limit: 'limits',
    raed: 'read',
    splt: 'split',
    uri: 'url',
    interval: undefined,
    x: undefined,
  };
  for (const [word, want] of Object.entries(table))
    test(`${word} is taken for ${want ?? 'nothing'}`, () => expect(nearest(word, fields)).toBe(want));
});
