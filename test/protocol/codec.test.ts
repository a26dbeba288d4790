// What the codecs write, they read: random calls through a writer and a reader arrive equal and in order (K2).
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Census,
  COMMIT_BOUNDS,
  type Counts,
  DownWriter,
  decodeReport,
  deliverDown,
  deliverUp,
  encodeReport,
  type Json,
  type LinkedRunner,
  type MountRequest,
  RUN_SPANS_MAX,
  type RunKind,
  type Runner,
  type RunnerReport,
  type RunnerStats,
  type RunOrder,
  type RunOutcome,
  type RunTrace,
  type SourceChange,
  type UpdateProgress,
  type Uplink,
  UpWriter,
} from '../../runner/protocol/index.ts';

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const runNumber = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const size = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
/** Any text, control characters included. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('\u0000', '\u0001', '0', '1', 'ä', '/') }),
);
const name = text.filter((value) => value !== '');
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);
const kinds: RunKind[] = ['cycle', 'pipeline', 'item', 'element', 'module', 'delete', 'watch'];
const maybe = <T>(values: Record<string, fc.Arbitrary<T>>) => fc.record(values, { requiredKeys: [] });

const counts: fc.Arbitrary<Counts> = fc.record({
  unchanged: word,
  added: word,
  reprocessed: word,
  deleted: word,
  failed: word,
  superseded: word,
});
const error = fc
  .tuple(
    fc.record({ class: fc.constantFrom('transient', 'rate-limited', 'lost', 'internal'), message: text }),
    maybe<unknown>({ step: text, retryAfterMs: size }),
  )
  .map(([head, rest]) => ({ ...head, ...rest }) as never);
const outcome = fc.oneof(
  fc
    .tuple(counts, maybe<unknown>({ value: json, heldDeletes: fc.record({ missing: size, known: size }) }))
    .map(([some, rest]) => ({ kind: 'done', counts: some, ...rest })),
  fc.record({ kind: fc.constant('failed'), counts, error }),
  fc.constant({ kind: 'superseded' }),
  fc.record({ kind: fc.constant('cancelled'), why: text }),
  fc
    .tuple(fc.record({ resumeAfterMs: size, error }), maybe<unknown>({ resume: json }))
    .map(([head, rest]) => ({ kind: 'parked', ...head, ...rest })),
) as fc.Arbitrary<RunOutcome>;
const request = fc
  .tuple(
    fc.record({ mount: word, path: text, kind: fc.constantFrom(...kinds) }),
    maybe<unknown>({
      source: name,
      key: name,
      version: name,
      input: json,
      runnerClass: text,
      rows: size,
      bytes: size,
      reprocess: fc.boolean(),
      milliCards: word,
    }),
  )
  .map(([head, rest]) => ({ ...head, ...rest })) as fc.Arbitrary<MountRequest>;
const EPOCH = 7;
const order = fc
  .tuple(
    request.map(({ mount: _, ...rest }) => rest),
    fc.record({
      token: fc.record({ epoch: fc.constant(EPOCH), run: runNumber, attempt: word }),
      update: fc.constantFrom('docs-1-1', 'docs-1-2', 'pipeline-1-3'),
    }),
    maybe<unknown>({
      parentRun: runNumber,
      trigger: text,
      allowDeletes: fc.boolean(),
      releaseQuarantined: fc.boolean(),
      openUpdates: fc.array(text),
      losses: size,
      resume: json,
    }),
  )
  .map(([a, b, c]) => ({
    ...a,
    ...b,
    ...c,
    ...(b.update === 'pipeline-1-3' ? {} : { updateOf: 'docs', traceparent: `00-${b.update}` }),
  })) as fc.Arbitrary<RunOrder>;
const progress: fc.Arbitrary<UpdateProgress> = fc.record({ listed: fc.boolean(), total: size, done: size, counts });
const change = fc
  .tuple(
    fc.record({ key: text, kind: fc.constantFrom('changed', 'removed', 'unknown', 'rescan'), seenAtMs: size }),
    maybe({ revision: text, traceparent: text }),
  )
  .map(([head, rest]) => ({ ...head, ...rest })) as fc.Arbitrary<SourceChange>;
const span = fc
  .tuple(
    fc.record({
      kind: fc.constantFrom('list', 'read', 'step', 'card', 'call', 'commit'),
      name: text,
      startMs: size,
      durationMs: size,
    }),
    maybe<unknown>({
      in: fc.integer({ min: 0, max: RUN_SPANS_MAX }),
      count: word,
      failure: fc.constantFrom('transient', 'timeout'),
      detail: name,
    }),
  )
  .map(([head, rest]) => ({ ...head, ...rest }));
const trace = fc.record({
  startedAtMs: size,
  durationMs: size,
  spans: fc.array(span, { maxLength: 8 }),
}) as fc.Arbitrary<RunTrace>;
const stats = fc.record({
  commits: fc.array(size, { minLength: COMMIT_BOUNDS.length + 1, maxLength: COMMIT_BOUNDS.length + 1 }),
  committed: size,
  retries: maybe({ transient: size, timeout: size }),
  calls: maybe({ ok: size, 'rate-limited': size }),
}) as fc.Arbitrary<RunnerStats>;

const census = fc.record({
  atMs: fc.double({ noNaN: true, noDefaultInfinity: true }),
  sources: fc.array(fc.record({ source: text, total: size, failed: size, quarantined: size }), { maxLength: 5 }),
}) as fc.Arbitrary<Census>;

const card = fc.integer({ min: 0, max: 63 });
const reportedCard = fc
  .tuple(
    fc.record({ run: runNumber, ask: word, milli: word, update: text }),
    maybe<unknown>({ cards: fc.array(card, { minLength: 1 }) }),
  )
  .map(([head, rest]) => ({ ...head, ...rest }));

type Call = readonly [string, ...unknown[]];
const recorder = (calls: Call[]) =>
  new Proxy(
    {},
    {
      get:
        (_, method: string) =>
        (...given: unknown[]) =>
          calls.push([method, ...given]),
    },
  );

test('every call of a runner arrives at the dispatcher as it was made', () => {
  const call = fc.oneof<fc.Arbitrary<Call>[]>(
    fc.tuple(fc.constant('mount'), runNumber, request),
    fc.tuple(fc.constant('unmount'), runNumber, word),
    fc.tuple(fc.constant('exited'), runNumber, outcome, fc.option(trace, { nil: undefined })),
    fc.tuple(fc.constant('progress'), runNumber, progress),
    fc.tuple(fc.constant('tookOver'), runNumber, text, fc.array(text)),
    fc.tuple(fc.constant('changed'), runNumber, fc.array(change)),
    fc.tuple(fc.constant('measured'), stats),
    fc.tuple(fc.constant('counted'), census),
    fc.tuple(fc.constant('askCard'), runNumber, word, word),
    fc.tuple(fc.constant('cardReturned'), runNumber, word, word),
  );
  const writer = new UpWriter();
  fc.assert(
    fc.property(fc.array(call, { maxLength: 100 }), (calls) => {
      for (const [method, ...given] of calls) (writer[method as keyof Uplink] as (...all: unknown[]) => void)(...given);
      expect(writer.length).toBe(calls.length);
      const arrived: Call[] = [];
      deliverUp(writer.take(), recorder(arrived) as Uplink);
      expect(arrived).toEqual(calls);
    }),
  );
});

test('every call of the dispatcher arrives at the runner as it was made', () => {
  const call = fc.oneof<fc.Arbitrary<Call>[]>(
    fc.tuple(fc.constant('start'), order),
    fc.tuple(fc.constant('cancel'), runNumber, text),
    runNumber.chain((run) => word.map((attempt): Call => ['renewed', run, { epoch: EPOCH, run, attempt }])),
    fc
      .tuple(runNumber, word, runNumber, word)
      .map(([run, attempt, parent, mount]): Call => ['startMounted', { epoch: EPOCH, run, attempt }, parent, mount]),
    fc.tuple(fc.constant('mountStarted'), runNumber, word),
    fc.tuple(fc.constant('mountEnded'), runNumber, word, outcome),
    fc.tuple(fc.constant('cardGranted'), runNumber, word, fc.record({ cards: fc.array(card), milliShare: word })),
    fc.tuple(fc.constant('cardRefused'), runNumber, word, text),
  );
  const writer = new DownWriter(EPOCH);
  fc.assert(
    fc.property(fc.array(call, { maxLength: 100 }), (calls) => {
      for (const [method, ...given] of calls) (writer[method as keyof Runner] as (...all: unknown[]) => void)(...given);
      const arrived: Call[] = [];
      deliverDown(writer.take(), recorder(arrived) as LinkedRunner);
      expect(arrived).toEqual(calls);
    }),
  );
});

test('what a runner reports of itself arrives whole', () => {
  const run = fc
    .tuple(
      fc.record({ order, mounts: fc.array(fc.record({ request, isStarted: fc.boolean() }), { maxLength: 5 }) }),
      maybe<unknown>({ progress }),
    )
    .map(([head, rest]) => ({ ...head, ...rest }));
  const held = fc.record({
    runs: fc.uniqueArray(run, { selector: ({ order: { token } }) => token.run, maxLength: 20 }),
    ended: fc.array(
      fc
        .tuple(
          fc.record({ order: order.map((one) => ({ ...one, token: { ...one.token, epoch: 0 } })), outcome }),
          maybe({ trace }),
        )
        .map(([head, rest]) => ({ ...head, ...rest })),
    ),
    changes: fc.array(fc.record({ run: runNumber, changes: fc.array(change) })),
    cards: fc.array(reportedCard),
  });
  const report = fc
    .tuple(held, maybe<unknown>({ census }))
    .map(([head, rest]) => ({ ...head, ...rest })) as fc.Arbitrary<RunnerReport>;
  fc.assert(
    fc.property(report, (given) => {
      expect(decodeReport(encodeReport(given))).toEqual(given);
    }),
  );
});

test('a batch that is cut short is refused, or lost nothing that counts', () => {
  const writer = new UpWriter();
  for (let i = 0; i < 10; i++)
    writer.mount(i + 1, { mount: i, path: `p${i}`, kind: 'item', source: 's', key: `k${i}` });
  const bytes = writer.take();
  for (let length = 1; length < bytes.length; length++) {
    const calls: Call[] = [];
    try {
      deliverUp(bytes.subarray(0, length), recorder(calls) as Uplink);
      expect(calls.length, `cut to ${length} of ${bytes.length} bytes`).toBe(10);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
  }
});
