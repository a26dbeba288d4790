// Steps: what a component does with an item, in order. A step object holds exactly one verb, and settings common to all verbs.
import type { z } from 'zod';
import {
  bytes,
  cards,
  choice,
  duration,
  exactlyOne,
  headers,
  int,
  list,
  listBy,
  name,
  object,
  opaque,
  patterned,
  text,
  variableName,
  variables,
} from './fields.ts';
import { and, below, exists, existsOne, has, implies, not, or, type Rule } from './rules.ts';
import { httpUrl, secretFrom } from './secrets.ts';

export const MAX_STEPS = 32;
export const MAX_NESTED_STEPS = 16;

// ---- settings common to all verbs --------------------------------------------------------------------------------

const retry = object(
  'Retries of a failed attempt. Only failures that another try may heal are retried; losing a runner costs no attempt. Absent: 5 attempts, first back-off 1s, at most 1m.',
  {
    attempts: int('Attempts in all, the first one included. Default 5.', 1, 100).default(5),
    backoff: duration(
      'Back-off after the first failure; it doubles, with jitter. Go duration, default 1s.',
      '1ms',
      '1h',
    ).default('1s'),
    maxBackoff: duration(
      'Longest back-off. A back-off above 5s gives the slot up meanwhile. Go duration, default 1m.',
      '1ms',
      '24h',
    ).default('1m'),
  },
).default({ attempts: 5, backoff: '1s', maxBackoff: '1m' });

const batch = object(
  'How calls of concurrent runs on one runner are put together. Absent: batches of up to 64 calls, without a bound on tokens and bytes.',
  {
    maxSize: int('Most calls in a batch. Default 64.', 1, 100_000).default(64),
    maxTokens: int('Most tokens in a batch, estimated. Absent: no bound.', 1, 100_000_000).optional(),
    maxBytes: bytes('Most bytes of input in a batch, such as 1Mi. Absent: no bound.', '1', '1Gi').optional(),
  },
).optional();

const common = {
  gpu: cards(
    'Share of a card that the step holds while its call, or its batch, runs: below one card in thousandths (500m), or whole cards (2). For embed, extract, exec and module. Absent: no card.',
  ).optional(),
  batch,
  retry,
  timeout: duration('Limit of one attempt. Go duration. Absent: 5m.', '1ms', '24h').optional(),
};

/** Limit of one attempt of a step whose `timeout` is absent. */
export const DEFAULT_STEP_TIMEOUT = '5m';

const GPU_VERBS = ['embed', 'extract', 'exec', 'module'] as const;
const BATCH_VERBS = GPU_VERBS;

const onlyFor = (setting: 'gpu' | 'batch', verbs: readonly string[]): Rule => ({
  holds: implies(has(`self.${setting}`), or(...verbs.map((verb) => has(`self.${verb}`)))),
  message: `${setting} is only for steps with ${verbs.slice(0, -1).join(', ')} or ${verbs.at(-1)}`,
  fieldPath: `.${setting}`,
  reason: 'FieldValueForbidden',
});

const stepRules = [onlyFor('gpu', GPU_VERBS), onlyFor('batch', BATCH_VERBS)];

// ---- verbs -------------------------------------------------------------------------------------------------------

const read = object('Reads the item: one element with its text.', {
  maxBytes: bytes('Largest item that is read, such as 10Mi. Default 16Mi.', '1', '4Gi').default('16Mi'),
  content: choice(
    'Text: decoded text. Bytes: raw content, for steps that take it apart themselves. Default Text.',
    'Text',
    'Bytes',
  ).default('Text'),
  encoding: choice(
    'Encoding of text. Auto: byte order mark, else UTF-8, else Windows-1252. Default Auto.',
    'Auto',
    'UTF-8',
    'UTF-16LE',
    'UTF-16BE',
    'Windows-1252',
  ).default('Auto'),
  onBinary: choice(
    'What becomes of an item that is not text: Skip has no rows, Fail is a failed item. Default Skip.',
    'Skip',
    'Fail',
  ).default('Skip'),
  onTooLarge: choice(
    'What becomes of an item above maxBytes: Fail is a failed item, Skip has no rows. Default Fail.',
    'Fail',
    'Skip',
  ).default('Fail'),
}).optional();

const split = object(
  'Splits text into chunks, each with its exact byte and line range.',
  {
    by: choice(
      'Splitter. text: paragraphs and sentences. markdown: headings. code: syntax of the language (text for unknown ones). Default text.',
      'text',
      'markdown',
      'code',
    ).default('text'),
    chunkSize: int('Largest chunk in characters. Default 1200.', 1, 100_000).default(1200),
    overlap: int(
      'Characters that a chunk repeats of the one before. Default 200; must be below chunkSize.',
      0,
      99_999,
    ).default(200),
    language: patterned(
      'Language for by: code, such as typescript. Absent: told by the name of the item.',
      63,
      /^[a-z0-9+#-]+$/,
      'must be lower case letters, digits, +, # and -',
    ).optional(),
  },
  {
    holds: below('self.overlap', 'self.chunkSize'),
    message: 'overlap (200 when absent) must be below chunkSize',
    fieldPath: '.overlap',
  },
).optional();

const rateLimit = object(
  'Rate that all runners together keep to at this endpoint. Absent: no limit but its own answers (429).',
  {
    requestsPerMinute: int('Requests a minute. Absent: no limit.', 1, 10_000_000).optional(),
    tokensPerMinute: int('Tokens a minute, estimated. Absent: no limit.', 1, 2_000_000_000).optional(),
  },
).optional();

const endpoint = {
  url: httpUrl('Base address of a server with the OpenAI interface, such as http://127.0.0.1:8080/v1.'),
  model: text('Model, as the server calls it.'),
  keyFrom: secretFrom('Key that is sent as bearer token. Absent: none is sent.').optional(),
  headers: headers('Further headers of each request, by name. Not for secrets. Absent: none.').optional(),
  rateLimit,
};

const embed = exactlyOne(
  'Gives each element a vector. Exactly one of hash, local and openai.',
  {
    hash: object('Hashed words: deterministic, offline, fast; for tests and for measuring.', {
      dimensions: int('Width of the vector. Default 384.', 8, 16_384).default(384),
    }).optional(),
    local: object('A small real model that ships with Fairlead; offline, on worker threads.', {
      model: patterned(
        'Name of the model. Absent: the one that ships.',
        253,
        /^[A-Za-z0-9@][-A-Za-z0-9@._/]*$/,
        'must be letters, digits and @ . _ / -',
      ).optional(),
    }).optional(),
    openai: object('Any server with the OpenAI interface: vLLM, TEI, Ollama, OpenAI.', {
      ...endpoint,
      dimensions: int(
        'Width that is asked of the server and checked on each reply. Absent: the width that the target has.',
        1,
        16_384,
      ).optional(),
    }).optional(),
  },
  {
    documentPrefix: text(
      'Put before each text that is indexed, as some models want. Absent: nothing.',
      1024,
    ).optional(),
    queryPrefix: text('Put before the text of a query, as some models want. Absent: nothing.', 1024).optional(),
  },
).optional();

const extract = exactlyOne(
  'Asks a model for structured facts of each element; the answer becomes fields of the element. Exactly one of: openai.',
  { openai: object('Any server with the OpenAI chat completion interface.', endpoint).optional() },
  {
    instructions: text('What is asked of the model, in words. Required.', 32_768),
    schema: opaque('JSON schema of the answer (type: object). Required.'),
    maxOutputTokens: int('Longest answer in tokens. Default 1024.', 1, 1_000_000).default(1024),
  },
).optional();

const exec = object(
  'A program in any language that stays up and speaks one JSON object a line. With gpu: one process per card, told by CUDA_VISIBLE_DEVICES.',
  {
    command: list('Program and its arguments; no shell. Required.', text('Program, or one argument.', 4096), 1, 64),
    workingDir: text(
      'Working directory. Absent: that of the runner; on one machine, that of the YAML file.',
      4096,
    ).optional(),
    env: variables(
      'Environment variables, by name. Not for secrets. Absent: none beyond those of the runner.',
    ).optional(),
    envFrom: listBy(
      'Environment variables from Secrets. Absent: none.',
      'name',
      object('An environment variable from a Secret.', {
        name: variableName('Name of the variable.'),
        from: secretFrom('Where its value comes from.'),
      }),
      0,
      32,
    ).optional(),
    processes: int('Processes per runner; with gpu there is one per card instead. Default 1.', 1, 256).default(1),
    maxMemory: bytes(
      'Memory of one process, with what it started, such as 4Gi. Above it an item in progress fails as too large, and between two items the process is started anew. Absent: no bound.',
      '1Mi',
      '1Pi',
    ).optional(),
    version: text(
      'What identifies the program in memos. A new value runs every item again. Absent: hash of its file.',
      63,
    ).optional(),
    startTimeout: duration('Limit from start to the first line. Go duration, default 60s.', '100ms', '1h').default(
      '60s',
    ),
  },
).optional();

const module = object('A TypeScript or JavaScript module of the runner image that uses the SDK.', {
  path: text(
    'File of the module: absolute, or relative to the working directory of the runner (on one machine, to the YAML file).',
    4096,
  ),
  entry: patterned(
    'Exported function that is called. Default: default.',
    253,
    /^[A-Za-z_$][A-Za-z0-9_$]*$/,
    'must be the name of a JavaScript function',
  ).default('default'),
  settings: opaque('Passed to the function as it stands here. Absent: nothing.').optional(),
}).optional();

const exportRows = object('Writes each element as a row of a target.', {
  target: name('Name of one of targets.'),
}).optional();

const flatVerbs = { split, embed, extract, exec, module, export: exportRows };

// ---- steps -------------------------------------------------------------------------------------------------------

const nestedStep = exactlyOne(
  'A step of a nested component: exactly one verb, and settings.',
  flatVerbs,
  common,
  ...stepRules,
);

export const INFLIGHT_ROWS_BOUNDS = { min: 1, max: 100_000_000, what: 'an integer from 1 to 100,000,000' } as const;
export const INFLIGHT_BYTES_BOUNDS = { min: 1_024, max: 1_024 ** 5, what: 'a quantity from 1Ki to 1Pi' } as const;

/** Limits of rows and bytes in flight, at whatever level. `otherwise`: what holds where one is absent. */
export const limits = (level: string, otherwise = (_what: 'ROWS' | 'BYTES') => 'no limit') => {
  const { min, max } = INFLIGHT_ROWS_BOUNDS;
  return object(
    `Limits of what ${level} may have in flight. All levels must pass; something heavier than a limit runs alone.`,
    {
      maxInflightRows: int(`Rows (items or elements) in flight. Absent: ${otherwise('ROWS')}.`, min, max).optional(),
      maxInflightBytes: bytes(
        `Bytes of input in flight, such as 1Gi. Absent: ${otherwise('BYTES')}.`,
        '1Ki',
        '1Pi',
      ).optional(),
    },
  ).optional();
};

/** Class of runner of a component. */
export const runnerClass = name(
  'Class of runner that the component runs on: the name of one of runners. Absent: with a gpu step the first class with cards, else the first class.',
).optional();

const forEach = object('A nested component per element, with its own steps, limits and rows.', {
  steps: list('Steps of the nested component, in order.', nestedStep, 1, MAX_NESTED_STEPS),
  keyField: text(
    'Field whose value identifies an element among its siblings. Absent: its text and how often the text occurred before.',
    63,
  ).optional(),
  runner: runnerClass,
  limits: limits('the nested components of one item'),
}).optional();

const step = exactlyOne(
  'A step: exactly one verb, and settings.',
  { read, ...flatVerbs, forEach },
  common,
  ...stepRules,
);

const READ_FIRST: Rule = {
  holds: or(not(exists('self', 's', has('s.read'))), and(has('self[0].read'), existsOne('self', 's', has('s.read')))),
  message: 'read must be the first step, and there can be only one',
};

export const steps = list('What is done with an item, in order.', step, 1, MAX_STEPS, READ_FIRST);

/** A step of a component. */
export type StepSpec = z.infer<typeof step>;
/** A step of a `forEach`. */
export type NestedStepSpec = z.infer<typeof nestedStep>;
export type ReadSpec = NonNullable<StepSpec['read']>;
export type SplitSpec = NonNullable<StepSpec['split']>;
export type EmbedSpec = NonNullable<StepSpec['embed']>;
export type ExtractSpec = NonNullable<StepSpec['extract']>;
export type ForEachSpec = NonNullable<StepSpec['forEach']>;
export type ExecSpec = NonNullable<StepSpec['exec']>;
export type ModuleSpec = NonNullable<StepSpec['module']>;
export type ExportSpec = NonNullable<StepSpec['export']>;
export type RetrySpec = StepSpec['retry'];
export type BatchSpec = NonNullable<StepSpec['batch']>;
export type LimitsSpec = NonNullable<ForEachSpec['limits']>;
/** A server with the OpenAI interface. */
export type EndpointSpec = NonNullable<ExtractSpec['openai']>;
