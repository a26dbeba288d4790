// The table of objects that are accepted or refused. It is held against the local check (`make test`) and against a real API
// server (`make test-cluster`), which must agree on every line.
import { API_VERSION } from '../../crds/schema/index.ts';

export type Plain = { [key: string]: unknown };

/** What a line expects. `field`: path that the API server's message names; the local check names it or something below it. */
export interface Refusal {
  readonly field: string;
  /** Text of a rule, equal in both places. Absent: a matter of type or bounds, which each says in its own words. */
  readonly says?: string;
}

export interface Line {
  readonly object: Plain;
  readonly refused?: Refusal;
  /** What CEL cannot say: only the local check refuses, the operator makes a condition of it. */
  readonly onlyHere?: true;
}

/** The object with other values at some paths, such as `spec.runners.0.slots`; undefined removes the field. */
export function changed(object: Plain, changes: Plain): Plain {
  const copy = structuredClone(object);
  for (const [path, value] of Object.entries(changes)) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    const owner = keys.reduce<Plain>((node, key) => node[key] as Plain, copy);
    if (value === undefined) delete owner[last];
    else owner[last] = value;
  }
  return copy;
}

const SECRET = { secretKeyRef: { name: 'index-db', key: 'url' } };

/** The least that a Pipeline needs. */
export const MINIMAL_PIPELINE: Plain = {
  apiVersion: API_VERSION,
  kind: 'Pipeline',
  metadata: { name: 'code-index', namespace: 'default' },
  spec: {
    component: { steps: [{ read: {} }, { export: { target: 'chunks' } }] },
    targets: [{ name: 'chunks', sqlite: { table: 'chunks' } }],
  },
};

/** The Pipeline of the design: two classes, cards, Postgres. */
export const CARD_PIPELINE: Plain = {
  apiVersion: API_VERSION,
  kind: 'Pipeline',
  metadata: { name: 'code-index', namespace: 'default' },
  spec: {
    maxInflightComponents: 1024,
    state: { postgres: { urlFrom: SECRET } },
    runners: [
      {
        name: 'cpu',
        slots: 64,
        replicas: { min: 0, max: 8 },
        template: { spec: { containers: [{ name: 'runner', x: 1 }] } },
      },
      { name: 'gpu', slots: 64, gpus: 1, replicas: { min: 0, max: 4 } },
    ],
    component: {
      steps: [
        { read: {} },
        { split: { by: 'code', chunkSize: 1200, overlap: 200 } },
        {
          embed: { openai: { url: 'http://127.0.0.1:8080/v1', model: 'bge-small' } },
          gpu: '500m',
          batch: { maxSize: 32 },
          retry: { attempts: 5 },
          timeout: '60s',
        },
        { forEach: { steps: [{ split: {} }, { export: { target: 'vectors' } }] } },
        { export: { target: 'vectors' } },
      ],
    },
    targets: [{ name: 'vectors', postgres: { urlFrom: SECRET, table: 'code_chunks', vector: { dimensions: 384 } } }],
    limits: { maxInflightRows: 4096, maxInflightBytes: '1Gi' },
    deletionPolicy: 'Delete',
    suspend: false,
  },
};

export const MINIMAL_SOURCE: Plain = {
  apiVersion: API_VERSION,
  kind: 'LiveSource',
  metadata: { name: 'repository', namespace: 'default' },
  spec: { pipelineRef: { name: 'code-index' }, source: { git: { url: 'https://example.com/a.git' } }, interval: '30s' },
};

const minimal = (changes: Plain): Line => ({ object: changed(MINIMAL_PIPELINE, changes) });
const cards = (changes: Plain): Line => ({ object: changed(CARD_PIPELINE, changes) });
const source = (changes: Plain): Line => ({ object: changed(MINIMAL_SOURCE, changes) });
const refused = (line: Line, field: string, says?: string): Line => ({
  ...line,
  refused: says === undefined ? { field } : { field, says },
});

/** A LiveSource of another kind of source. */
const from = (kind: Plain, more: Plain = {}): Line => source({ 'spec.source': kind, ...more });
/** The minimal Pipeline with another target. */
const into = (target: Plain): Line => minimal({ 'spec.targets': [{ name: 'chunks', ...target }] });
/** The minimal Pipeline with one more step between its two. */
const step = (...steps: Plain[]): Line =>
  minimal({ 'spec.component.steps': [{ read: {} }, ...steps, { export: { target: 'chunks' } }] });
/** The Pipeline with cards, with another step in the place of `embed`. */
const cardStep = (one: Plain): Line => cards({ 'spec.component.steps.2': one });
const hash = { embed: { hash: {} } };
const ONE_VERB = 'exactly one of read, split, embed, extract, exec, module, export, forEach must be set';
const GPU = 'gpu must be a share below one card in thousandths (such as 500m), or a whole number of cards (such as 2)';
const names = (count: number): Plain[] =>
  Array.from({ length: count }, (_, index) => ({ name: `t${index}`, jsonl: { path: `${index}.jsonl` } }));

export const LINES: Readonly<Record<string, Line>> = {
  // ---- Pipelines as a whole
  'the least that a Pipeline needs': minimal({}),
  'the Pipeline of the design': cards({}),
  'a Pipeline without spec': refused(minimal({ spec: undefined }), 'spec'),
  'a Pipeline without component': refused(minimal({ 'spec.component': undefined }), 'spec.component'),
  'a Pipeline without targets': refused(minimal({ 'spec.targets': undefined }), 'spec.targets'),
  'a field that does not exist': refused(minimal({ 'spec.targts': [] }), 'spec.targts'),
  'a field that does not exist, deep down': refused(
    cards({ 'spec.component.steps.1.split.chunksize': 9 }),
    'spec.component.steps[1].split.chunksize',
  ),
  'a name of 52 characters': minimal({ 'metadata.name': 'a'.repeat(52) }),
  'a name of 53 characters': refused(minimal({ 'metadata.name': 'a'.repeat(53) }), 'metadata.name'),
  'a name with a dot': refused(minimal({ 'metadata.name': 'a.b' }), 'metadata.name'),
  'a name with capitals': refused(minimal({ 'metadata.name': 'Index' }), 'metadata.name'),
  'labels and annotations': minimal({
    'metadata.labels': { a: 'b' },
    'metadata.annotations': { 'fairlead.dev/refresh': '1' },
  }),

  // ---- settings of a Pipeline
  'one slot': minimal({ 'spec.maxInflightComponents': 1 }),
  'a million slots': minimal({ 'spec.maxInflightComponents': 1_000_000 }),
  'no slot': refused(minimal({ 'spec.maxInflightComponents': 0 }), 'spec.maxInflightComponents'),
  'more than a million slots': refused(
    minimal({ 'spec.maxInflightComponents': 1_000_001 }),
    'spec.maxInflightComponents',
  ),
  'half a slot': refused(minimal({ 'spec.maxInflightComponents': 1.5 }), 'spec.maxInflightComponents'),
  'slots as text': refused(minimal({ 'spec.maxInflightComponents': '8' }), 'spec.maxInflightComponents'),
  'suspend as text': refused(minimal({ 'spec.suspend': 'yes' }), 'spec.suspend'),
  'a field without a value': minimal({ 'spec.limits': null }),
  'rows are retained': minimal({ 'spec.deletionPolicy': 'Retain' }),
  'an unknown deletion policy': refused(minimal({ 'spec.deletionPolicy': 'delete' }), 'spec.deletionPolicy'),
  'branches weigh by bytes': minimal({ 'spec.cost': 'Bytes' }),
  'an unknown cost': refused(minimal({ 'spec.cost': 'Euros' }), 'spec.cost'),
  'bytes in flight as a number': minimal({ 'spec.limits': { maxInflightBytes: 1_048_576 } }),
  'bytes in flight with an exponent': minimal({ 'spec.limits': { maxInflightBytes: '1e6' } }),
  'bytes in flight with a fraction': minimal({ 'spec.limits': { maxInflightBytes: '1.5Gi' } }),
  'too few bytes in flight': refused(
    minimal({ 'spec.limits': { maxInflightBytes: '1000' } }),
    'spec.limits.maxInflightBytes',
    'must be a quantity from 1Ki to 1Pi, such as 64Ki, 100Mi or 1.5Gi',
  ),
  'too many bytes in flight': refused(
    minimal({ 'spec.limits': { maxInflightBytes: '2Pi' } }),
    'spec.limits.maxInflightBytes',
    'must be a quantity from 1Ki to 1Pi, such as 64Ki, 100Mi or 1.5Gi',
  ),
  'bytes in flight that are no quantity': refused(
    minimal({ 'spec.limits': { maxInflightBytes: '1 GB' } }),
    'spec.limits.maxInflightBytes',
    'must be a quantity from 1Ki to 1Pi, such as 64Ki, 100Mi or 1.5Gi',
  ),
  'negative bytes in flight': refused(
    minimal({ 'spec.limits': { maxInflightBytes: '-1Gi' } }),
    'spec.limits.maxInflightBytes',
  ),
  'no rows in flight': refused(minimal({ 'spec.limits': { maxInflightRows: 0 } }), 'spec.limits.maxInflightRows'),

  // ---- state and runners
  'a SQLite state on a volume': minimal({ 'spec.state': { sqlite: { claimName: 'state', path: '/state/a.db' } } }),
  'two kinds of state': refused(
    minimal({ 'spec.state': { sqlite: {}, postgres: { urlFrom: SECRET } } }),
    'spec.state',
    'exactly one of sqlite, postgres must be set',
  ),
  'no kind of state': refused(
    minimal({ 'spec.state': {} }),
    'spec.state',
    'exactly one of sqlite, postgres must be set',
  ),
  'a secret from two places': refused(
    cards({ 'spec.state.postgres.urlFrom': { ...SECRET, env: 'URL' } }),
    'spec.state.postgres.urlFrom',
    'exactly one of secretKeyRef, env must be set',
  ),
  'a secret from a variable': cards({ 'spec.state.postgres.urlFrom': { env: 'DATABASE_URL' } }),
  'a variable that is none': refused(
    cards({ 'spec.state.postgres.urlFrom': { env: '1-URL' } }),
    'spec.state.postgres.urlFrom.env',
  ),
  'SQLite with two classes of runner': refused(
    minimal({ 'spec.runners': [{ name: 'a' }, { name: 'b' }] }),
    'spec.runners',
    'state.sqlite is for a single runner: use one class with replicas.max 1, or state.postgres',
  ),
  'SQLite with two pods': refused(
    minimal({ 'spec.runners': [{ name: 'a', replicas: { max: 2 } }] }),
    'spec.runners',
    'state.sqlite is for a single runner: use one class with replicas.max 1, or state.postgres',
  ),
  'an empty list of runners': refused(minimal({ 'spec.runners': [] }), 'spec.runners'),
  'two classes of one name': refused(cards({ 'spec.runners.1.name': 'cpu' }), 'spec.runners[1]'),
  'more pods at least than at most': refused(
    cards({ 'spec.runners.0.replicas': { min: 9, max: 8 } }),
    'spec.runners[0].replicas.min',
    'replicas.min must not be above replicas.max',
  ),
  'at least two pods, at most the default': refused(
    cards({ 'spec.runners.0.replicas': { min: 2 } }),
    'spec.runners[0].replicas.min',
    'replicas.min must not be above replicas.max',
  ),
  'a class without slots': refused(cards({ 'spec.runners.0.slots': 0 }), 'spec.runners[0].slots'),
  'cards of a MIG profile': cards({ 'spec.runners.1.resourceName': 'nvidia.com/mig-1g.10gb' }),
  'a resource without domain': refused(
    cards({ 'spec.runners.1.resourceName': 'gpu' }),
    'spec.runners[1].resourceName',
    'must be a resource with its domain, such as nvidia.com/gpu',
  ),
  'a pod template is kept as it is': cards({ 'spec.runners.1.template': { anything: [{ goes: 1.5 }] } }),
  'a pod template that is text': refused(cards({ 'spec.runners.1.template': 'pod' }), 'spec.runners[1].template'),
  'a component on a class that is there': cards({ 'spec.component.runner': 'gpu' }),
  'a component with a card on a class that has none': {
    ...refused(
      cards({ 'spec.component.runner': 'cpu' }),
      'spec.component.steps[2].gpu',
      'asks for a card, and the class cpu has no cards: raise gpus of that class, or name another with runner',
    ),
    onlyHere: true,
  },
  'a component on a class that is not there': refused(
    cards({ 'spec.component.runner': 'tpu' }),
    'spec.component.runner',
    'component.runner must name one of runners',
  ),

  // ---- steps
  'no step': refused(minimal({ 'spec.component.steps': [] }), 'spec.component.steps'),
  'thirty-two steps': step(...Array.from({ length: 30 }, () => ({ split: {} }))),
  'thirty-three steps': refused(step(...Array.from({ length: 31 }, () => ({ split: {} }))), 'spec.component.steps'),
  'a step with two verbs': refused(step({ split: {}, ...hash }), 'spec.component.steps[1]', ONE_VERB),
  'a step without verb': refused(step({ timeout: '1m' }), 'spec.component.steps[1]', ONE_VERB),
  'a verb without value': refused(step({ split: null }), 'spec.component.steps[1]', ONE_VERB),
  'a verb that does not exist': refused(step({ chunk: {} }), 'spec.component.steps[1].chunk'),
  'read twice': refused(
    step({ read: {} }),
    'spec.component.steps',
    'read must be the first step, and there can be only one',
  ),
  'read after another step': refused(
    minimal({ 'spec.component.steps': [{ split: {} }, { read: {} }] }),
    'spec.component.steps',
    'read must be the first step, and there can be only one',
  ),
  'a component without read': minimal({ 'spec.component.steps': [{ module: { path: './a.ts' } }] }),
  'a splitter that does not exist': refused(step({ split: { by: 'cod' } }), 'spec.component.steps[1].split.by'),
  'an overlap as large as the chunk': refused(
    step({ split: { chunkSize: 500, overlap: 500 } }),
    'spec.component.steps[1].split.overlap',
    'overlap (200 when absent) must be below chunkSize',
  ),
  'a chunk below the overlap that is the default': refused(
    step({ split: { chunkSize: 100 } }),
    'spec.component.steps[1].split.overlap',
    'overlap (200 when absent) must be below chunkSize',
  ),
  'two embedders': refused(
    step({ embed: { hash: {}, local: {} } }),
    'spec.component.steps[1].embed',
    'exactly one of hash, local, openai must be set',
  ),
  'a vector without width': refused(
    step({ embed: { hash: { dimensions: 0 } } }),
    'spec.component.steps[1].embed.hash.dimensions',
  ),
  'a server without scheme': refused(
    step({ embed: { openai: { url: 'localhost:8080', model: 'm' } } }),
    'spec.component.steps[1].embed.openai.url',
    'must be an address that starts with http:// or https://',
  ),
  'a server without model': refused(
    step({ embed: { openai: { url: 'http://a/v1' } } }),
    'spec.component.steps[1].embed.openai.model',
  ),
  'headers and a rate': step({
    embed: {
      openai: { url: 'http://a/v1', model: 'm', headers: { 'x-team': 'a' }, rateLimit: { requestsPerMinute: 60 } },
    },
  }),
  'a header that is none': refused(
    step({ embed: { openai: { url: 'http://a/v1', model: 'm', headers: { 'x team': 'a' } } } }),
    'spec.component.steps[1].embed.openai.headers',
    'names of headers must be letters, digits and -',
  ),
  'extract with a schema': step({
    extract: { openai: { url: 'http://a/v1', model: 'm' }, instructions: 'Who wrote it?', schema: { type: 'object' } },
  }),
  'extract without schema': refused(
    step({ extract: { openai: { url: 'http://a/v1', model: 'm' }, instructions: 'Who?' } }),
    'spec.component.steps[1].extract.schema',
  ),
  'a program': step({
    exec: { command: ['python3', 'x.py'], env: { A_B: '1' }, envFrom: [{ name: 'KEY', from: SECRET }], version: '3' },
  }),
  'a program without command': refused(step({ exec: { command: [] } }), 'spec.component.steps[1].exec.command'),
  'a program with a variable that is none': refused(
    step({ exec: { command: ['a'], env: { 'a-b': '1' } } }),
    'spec.component.steps[1].exec.env',
    'names of variables must be letters, digits and _, not starting with a digit',
  ),
  'a program with too many variables': refused(
    step({ exec: { command: ['a'], env: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`V${i}`, ''])) } }),
    'spec.component.steps[1].exec.env',
  ),
  'a program with a variable that is a number': refused(
    step({ exec: { command: ['a'], env: { A: 1 } } }),
    'spec.component.steps[1].exec.env.A',
  ),
  'a module with settings': step({ module: { path: './summary.ts', settings: { a: [1, { b: null }] } } }),
  'export to a target that is not there': refused(
    minimal({ 'spec.component.steps.1.export.target': 'chunk' }),
    'spec.component.steps',
    'export.target must name one of targets',
  ),
  'export in forEach to a target that is not there': refused(
    cards({ 'spec.component.steps.3.forEach.steps.1.export.target': 'chunk' }),
    'spec.component.steps',
    'export.target in forEach must name one of targets',
  ),
  'forEach on a class that is not there': refused(
    cards({ 'spec.component.steps.3.forEach.runner': 'tpu' }),
    'spec.component.steps',
    'forEach.runner must name one of runners',
  ),
  'forEach with limits and a key': cards({
    'spec.component.steps.3.forEach.limits': { maxInflightRows: 8, maxInflightBytes: '1Mi' },
    'spec.component.steps.3.forEach.keyField': 'id',
  }),
  'forEach in forEach': refused(
    cards({ 'spec.component.steps.3.forEach.steps.0': { forEach: { steps: [] } } }),
    'spec.component.steps[3].forEach.steps[0].forEach',
  ),
  'forEach with two verbs in a step': refused(
    cards({ 'spec.component.steps.3.forEach.steps.0': { split: {}, ...hash } }),
    'spec.component.steps[3].forEach.steps[0]',
    'exactly one of split, embed, extract, exec, module, export must be set',
  ),

  // ---- settings of a step
  'a share of a card in thousandths': cardStep({ ...hash, gpu: '1m' }),
  'a share of a card as a decimal': cardStep({ ...hash, gpu: '0.5' }),
  'two cards': cards({ 'spec.component.steps.2': { ...hash, gpu: 2 }, 'spec.runners.1.gpus': 2 }),
  'two cards in thousandths': cards({ 'spec.component.steps.2': { ...hash, gpu: '2000m' }, 'spec.runners.1.gpus': 4 }),
  'two cards on runners of one': {
    ...refused(
      cardStep({ ...hash, gpu: 2 }),
      'spec.component.steps[2].gpu',
      'asks for 2 cards of one runner, and the class gpu has 1 a pod: raise gpus of that class, or name another with runner',
    ),
    onlyHere: true,
  },
  'one and a half cards': refused(cardStep({ ...hash, gpu: '1500m' }), 'spec.component.steps[2].gpu', GPU),
  'one and a half cards as a decimal': refused(cardStep({ ...hash, gpu: '1.5' }), 'spec.component.steps[2].gpu', GPU),
  'no card': refused(cardStep({ ...hash, gpu: 0 }), 'spec.component.steps[2].gpu', GPU),
  'a share finer than a thousandth': refused(cardStep({ ...hash, gpu: '0.0005' }), 'spec.component.steps[2].gpu', GPU),
  'a share as a number with a fraction': refused(cardStep({ ...hash, gpu: 0.5 }), 'spec.component.steps[2].gpu'),
  'a card for a step that has no use for it': refused(
    cardStep({ split: {}, gpu: '500m' }),
    'spec.component.steps[2].gpu',
    'gpu is only for steps with embed, extract, exec or module',
  ),
  'a card for forEach': refused(
    cards({ 'spec.component.steps.3.gpu': 1 }),
    'spec.component.steps[3].gpu',
    'gpu is only for steps with embed, extract, exec or module',
  ),
  'a card for a step in forEach': cards({ 'spec.component.steps.3.forEach.steps.0': { ...hash, gpu: '250m' } }),
  'a card without a class that has some': refused(
    step({ ...hash, gpu: '500m' }),
    'spec.runners',
    'a step with gpu needs a class of runner with gpus: set gpus on one of runners',
  ),
  'batches for a step that makes no calls': refused(
    step({ split: {}, batch: { maxSize: 2 } }),
    'spec.component.steps[1].batch',
    'batch is only for steps with embed, extract, exec or module',
  ),
  'batches by tokens and bytes': step({ ...hash, batch: { maxSize: 8, maxTokens: 8000, maxBytes: '1Mi' } }),
  'no attempt': refused(step({ split: {}, retry: { attempts: 0 } }), 'spec.component.steps[1].retry.attempts'),
  'a timeout of an hour and a half': step({ split: {}, timeout: '1h30m' }),
  'a timeout with a fraction': step({ split: {}, timeout: '1.5h' }),
  'a timeout as a number': refused(step({ split: {}, timeout: 60 }), 'spec.component.steps[1].timeout'),
  'a timeout in words': refused(
    step({ split: {}, timeout: '5 minutes' }),
    'spec.component.steps[1].timeout',
    'must be a duration from 1ms to 24h, such as 500ms, 30s, 5m or 1h30m',
  ),
  'a timeout in days': refused(
    step({ split: {}, timeout: '1d' }),
    'spec.component.steps[1].timeout',
    'must be a duration from 1ms to 24h, such as 500ms, 30s, 5m or 1h30m',
  ),
  'a timeout above its bound': refused(
    step({ split: {}, timeout: '25h' }),
    'spec.component.steps[1].timeout',
    'must be a duration from 1ms to 24h, such as 500ms, 30s, 5m or 1h30m',
  ),

  // ---- targets
  'a target in Postgres': into({ postgres: { urlFrom: SECRET, table: 'a', language: 'english' } }),
  'a target in Qdrant': into({
    qdrant: { url: 'http://qdrant:6333', collection: 'a', vector: { dimensions: 8, metric: 'dot' } },
  }),
  'a target in LanceDB': into({ lancedb: { uri: 's3://a/b', table: 'a' } }),
  'a target in a file': into({ jsonl: { path: 'a.jsonl' } }),
  'a target of no kind': refused(
    into({}),
    'spec.targets[0]',
    'exactly one of sqlite, postgres, qdrant, lancedb, jsonl must be set',
  ),
  'a target of two kinds': refused(
    into({ jsonl: { path: 'a' }, sqlite: { table: 'a' } }),
    'spec.targets[0]',
    'exactly one of sqlite, postgres, qdrant, lancedb, jsonl must be set',
  ),
  'a table with capitals': refused(into({ sqlite: { table: 'Chunks' } }), 'spec.targets[0].sqlite.table'),
  'a table that would be SQL': refused(into({ sqlite: { table: 'a; drop table b' } }), 'spec.targets[0].sqlite.table'),
  'vectors without width': refused(
    into({ sqlite: { table: 'a', vector: {} } }),
    'spec.targets[0].sqlite.vector.dimensions',
  ),
  'an unknown metric': refused(
    into({ sqlite: { table: 'a', vector: { dimensions: 8, metric: 'near' } } }),
    'spec.targets[0].sqlite.vector.metric',
  ),
  'a target without name': refused(minimal({ 'spec.targets': [{ jsonl: { path: 'a' } }] }), 'spec.targets[0].name'),
  'two targets of one name': refused(
    minimal({
      'spec.targets': [
        { name: 'chunks', jsonl: { path: 'a' } },
        { name: 'chunks', jsonl: { path: 'b' } },
      ],
    }),
    'spec.targets[1]',
  ),
  'sixteen targets': minimal({ 'spec.targets': names(16), 'spec.component.steps.1.export.target': 't15' }),
  'seventeen targets': refused(
    minimal({ 'spec.targets': names(17), 'spec.component.steps.1.export.target': 't15' }),
    'spec.targets',
  ),

  // ---- LiveSources
  'the least that a LiveSource needs': source({}),
  'a LiveSource without Pipeline': refused(source({ 'spec.pipelineRef': undefined }), 'spec.pipelineRef'),
  'a LiveSource without source': refused(source({ 'spec.source': undefined }), 'spec.source'),
  'a source of no kind': refused(
    from({}),
    'spec.source',
    'exactly one of git, directory, s3, http, postgres, push must be set',
  ),
  'a source of two kinds': refused(
    from({ git: { url: '.' }, directory: { path: '.' } }),
    'spec.source',
    'exactly one of git, directory, s3, http, postgres, push must be set',
  ),
  'Refresh without interval and cron': refused(
    source({ 'spec.interval': undefined }),
    'spec.interval',
    'mode Refresh needs interval or cron',
  ),
  'Refresh with interval and cron': refused(
    source({ 'spec.cron': '0 * * * *' }),
    'spec.cron',
    'only one of interval and cron can be set',
  ),
  'Refresh by cron in a time zone': source({
    'spec.interval': undefined,
    'spec.cron': '*/5 8-18 * jan-jun MON-FRI',
    'spec.timeZone': 'Europe/Berlin',
  }),
  'Refresh at a nickname of cron': source({ 'spec.interval': undefined, 'spec.cron': '@hourly' }),
  'cron with four fields': refused(
    source({ 'spec.interval': undefined, 'spec.cron': '* * * *' }),
    'spec.cron',
    'must be a cron expression: five fields (minute, hour, day of month, month, day of week), or @hourly and its like',
  ),
  'cron at minute 61': {
    ...refused(source({ 'spec.interval': undefined, 'spec.cron': '61 * * * *' }), 'spec.cron'),
    onlyHere: true,
  },
  'cron on the 31st of February': {
    ...refused(source({ 'spec.interval': undefined, 'spec.cron': '0 0 31 2 *' }), 'spec.cron'),
    onlyHere: true,
  },
  'a time zone that is none': {
    ...refused(
      source({ 'spec.interval': undefined, 'spec.cron': '@daily', 'spec.timeZone': 'Europe/Berln' }),
      'spec.timeZone',
    ),
    onlyHere: true,
  },
  'a time zone without cron': refused(source({ 'spec.timeZone': 'UTC' }), 'spec.timeZone', 'timeZone is only for cron'),
  'Watch without interval': source({ 'spec.mode': 'Watch', 'spec.interval': undefined, 'spec.resync': '10m' }),
  'an unknown mode': refused(source({ 'spec.mode': 'watch' }), 'spec.mode'),
  'an interval below a second': refused(
    source({ 'spec.interval': '999ms' }),
    'spec.interval',
    'must be a duration from 1s to 8760h, such as 500ms, 30s, 5m or 1h30m',
  ),
  'a negative interval': refused(source({ 'spec.interval': '-5s' }), 'spec.interval'),
  'a weight of a thousand': source({ 'spec.weight': 1000 }),
  'no weight': refused(source({ 'spec.weight': 0 }), 'spec.weight'),
  'a guard at zero percent': source({ 'spec.deleteGuard': { maxPercent: 0, minItems: 0 } }),
  'a guard above a hundred percent': refused(
    source({ 'spec.deleteGuard': { maxPercent: 101 } }),
    'spec.deleteGuard.maxPercent',
  ),
  'limits of a LiveSource': source({ 'spec.limits': { maxInflightRows: 256, maxInflightBytes: '100Mi' } }),
  'a git repository over ssh': from({
    git: { url: 'git@example.com:a/b.git', ref: 'main', auth: { sshKeyFrom: SECRET } },
  }),
  'a git repository in a folder, as it lies there': from({ git: { url: './repo', worktree: true } }),
  'a git repository far away, as it lies there': refused(
    from({ git: { url: 'https://example.com/a.git', worktree: true } }),
    'spec.source.git.worktree',
    'worktree needs a folder as url, and no ref',
  ),
  'a git address that would be an option': refused(
    from({ git: { url: '--upload-pack=x' } }),
    'spec.source.git.url',
    'must be an https, ssh or file address, user@host:path, or a folder (starting with / or .)',
  ),
  'a git ref that would be an option': refused(
    from({ git: { url: '.', ref: '--x' } }),
    'spec.source.git.ref',
    'must be a branch, tag or commit: letters, digits and . _ / @ + -, not starting with a sign',
  ),
  'a folder with globs': from({
    directory: { path: '/docs', include: ['**/*.md'], exclude: ['drafts/**'], gitignore: true },
  }),
  'a folder with too many globs': refused(
    from({ directory: { path: '/docs', include: Array.from({ length: 257 }, (_, index) => `${index}`) } }),
    'spec.source.directory.include',
  ),
  'a glob that is empty': refused(
    from({ directory: { path: '/docs', include: [''] } }),
    'spec.source.directory.include[0]',
  ),
  'a bucket': from({ s3: { bucket: 'docs', endpoint: 'http://minio:9000', pathStyle: true } }),
  'a bucket with half a key': refused(
    from({ s3: { bucket: 'docs', accessKeyIdFrom: SECRET } }),
    'spec.source.s3.accessKeyIdFrom',
    'accessKeyIdFrom and secretAccessKeyFrom must be set together',
  ),
  'a bucket that is watched': refused(
    from({ s3: { bucket: 'docs' } }, { 'spec.mode': 'Watch' }),
    'spec.mode',
    'source.s3 and source.http cannot be watched: use mode: Refresh',
  ),
  'a sitemap': from({ http: { sitemap: 'https://example.com/sitemap.xml' } }),
  'a list of pages': from({ http: { list: ['https://example.com/a', 'https://example.com/b'], tokenFrom: SECRET } }),
  'a sitemap and a list': refused(
    from({ http: { sitemap: 'https://example.com/s.xml', list: ['https://example.com/a'] } }),
    'spec.source.http',
    'exactly one of sitemap, list must be set',
  ),
  'a table': from({
    postgres: { urlFrom: SECRET, table: 'tickets', key: ['id'], content: 'body', watermark: 'updated_at' },
  }),
  'a table without key': refused(
    from({ postgres: { urlFrom: SECRET, table: 'tickets', key: [], content: 'body' } }),
    'spec.source.postgres.key',
  ),
  'a webhook': from({ push: { secretFrom: SECRET } }, { 'spec.mode': 'Watch', 'spec.interval': undefined }),
  'a webhook in Refresh': refused(from({ push: { secretFrom: SECRET } }), 'spec.mode', 'source.push needs mode: Watch'),
  'a webhook without key': refused(from({ push: {} }, { 'spec.mode': 'Watch' }), 'spec.source.push.secretFrom'),
};
