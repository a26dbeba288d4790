// Pipeline: what to do with an item, with what, and where rows go.
import { z } from 'zod';
import { choice, exactlyOne, flag, int, object, objectName, patterned, text } from './fields.ts';
import { API_VERSION } from './group.ts';
import { metadata } from './metadata.ts';
import {
  all,
  and,
  atMost,
  bothOrNeither,
  exists,
  has,
  implies,
  is,
  not,
  or,
  type Rule,
  same,
  sizeAtMost,
} from './rules.ts';
import { runners } from './runners.ts';
import { secretFrom } from './secrets.ts';
import { pipelineStatus } from './status.ts';
import { limits, runnerClass, steps } from './steps.ts';
import { targets } from './targets.ts';

const state = exactlyOne(
  'Where the Pipeline remembers what it did. Exactly one of sqlite and postgres. Absent: sqlite.',
  {
    sqlite: object('A SQLite file: for one runner, and on one machine.', {
      path: text(
        'File. Absent: /var/lib/fairlead/state.db in a runner pod; on one machine, a file under .fairlead beside the YAML file.',
        4096,
      ).optional(),
      claimName: objectName(
        'PersistentVolumeClaim that is mounted for the file. Absent: it goes with the pod, and the index is made anew.',
      ).optional(),
    }).optional(),
    postgres: object('A Postgres database: for any number of runners.', {
      urlFrom: secretFrom('Address of the database, such as postgres://user:password@host:5432/db.'),
      schema: patterned(
        'Schema for the tables of the state. Default fairlead.',
        48,
        /^[a-z_][a-z0-9_]*$/,
        'must be lower case letters, digits and _, not starting with a digit',
      ).default('fairlead'),
    }).optional(),
  },
  {},
).default({ sqlite: {} });

const component = object('What is run once per item of a source.', { steps, runner: runnerClass });

// ---- rules between the parts -------------------------------------------------------------------------------------

const isTarget = (step: string) => exists('self.targets', 't', same('t.name', `${step}.export.target`));
const isRunner = (holder: string) =>
  implies(has(`${holder}.runner`), exists('self.runners', 'r', same('r.name', `${holder}.runner`)));
const inForEach = (step: string, body: Parameters<typeof all>[2]) =>
  all('self.component.steps', step, implies(has(`${step}.forEach`), body));

const namesOf = (list: 'targets' | 'runners') => (self: unknown) => {
  const items = (self as Readonly<Record<string, unknown>>)[list];
  return (Array.isArray(items) ? items : []).flatMap((item: { name?: unknown } | null) =>
    typeof item?.name === 'string' ? [item.name] : [],
  );
};

const REFERENCES: Rule[] = [
  {
    holds: all('self.component.steps', 's', implies(has('s.export'), isTarget('s'))),
    message: 'export.target must name one of targets',
    fieldPath: '.component.steps',
    inElement: '.export.target',
    candidates: namesOf('targets'),
  },
  {
    holds: inForEach('s', all('s.forEach.steps', 'n', implies(has('n.export'), isTarget('n')))),
    message: 'export.target in forEach must name one of targets',
    fieldPath: '.component.steps',
    inElement: '.export.target',
    candidates: namesOf('targets'),
  },
  {
    holds: isRunner('self.component'),
    message: 'component.runner must name one of runners',
    fieldPath: '.component.runner',
    candidates: namesOf('runners'),
  },
  {
    holds: inForEach('s', isRunner('s.forEach')),
    message: 'forEach.runner must name one of runners',
    fieldPath: '.component.steps',
    inElement: '.forEach.runner',
    candidates: namesOf('runners'),
  },
];

const CARDS_NEED_A_CLASS: Rule = {
  holds: or(
    exists('self.runners', 'r', not(is('r.gpus', 0))),
    all(
      'self.component.steps',
      's',
      and(not(has('s.gpu')), implies(has('s.forEach'), all('s.forEach.steps', 'n', not(has('n.gpu'))))),
    ),
  ),
  message: 'a step with gpu needs a class of runner with gpus: set gpus on one of runners',
  fieldPath: '.runners',
};

const SQLITE_IS_FOR_ONE: Rule = {
  holds: implies(
    has('self.state.sqlite'),
    and(sizeAtMost('self.runners', 1), all('self.runners', 'r', atMost('r.replicas.max', 1))),
  ),
  message: 'state.sqlite is for a single runner: use one class with replicas.max 1, or state.postgres',
  fieldPath: '.runners',
};

const STATE_STAYS: Rule = {
  holds: or(
    bothOrNeither('self.state.postgres', 'oldSelf.state.postgres'),
    and(is('self.suspend', true), is('oldSelf.suspend', true)),
  ),
  message: 'the kind of state can be changed only while suspend is true; the index is then made anew',
  fieldPath: '.state',
  reason: 'FieldValueForbidden',
};

/** Default of `maxInflightComponents` where neither the spec nor the variable has one (design section 2). */
export const DEFAULT_MAX_INFLIGHT_COMPONENTS = 1024;
export const MAX_INFLIGHT_COMPONENTS_BOUNDS = { min: 1, max: 1_000_000 } as const;

export const pipelineSpec = object(
  'What to do with an item, with what, and where rows go.',
  {
    maxInflightComponents: int(
      'Slots: how many component runs execute at once, over all runners. Absent: the variable FAIRLEAD_MAX_INFLIGHT_COMPONENTS of the operator, else 1024; the value in force stands in status.slots.limit.',
      MAX_INFLIGHT_COMPONENTS_BOUNDS.min,
      MAX_INFLIGHT_COMPONENTS_BOUNDS.max,
    ).optional(),
    state,
    runners,
    component,
    targets,
    limits: limits(
      'the Pipeline',
      (what) => `the variable FAIRLEAD_SOURCE_MAX_INFLIGHT_${what} of the operator, else no limit`,
    ),
    cost: choice(
      'What a branch is taken to hold when the next slot is given: Slots, Bytes (declared by its runs), or DominantShare of slots, bytes and cards. Default Slots.',
      'Slots',
      'Bytes',
      'DominantShare',
    ).default('Slots'),
    deletionPolicy: choice(
      'What becomes of rows and state when the Pipeline is deleted: Delete removes them first, Retain keeps them. Default Delete.',
      'Delete',
      'Retain',
    ).default('Delete'),
    suspend: flag('Starts no new run; what runs ends. Default false.'),
  },
  ...REFERENCES,
  CARDS_NEED_A_CLASS,
  SQLITE_IS_FOR_ONE,
  STATE_STAYS,
);

export const pipeline = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('Pipeline'),
  metadata,
  spec: pipelineSpec,
  status: pipelineStatus.optional(),
});

/** A Pipeline as it is after parsing: defaults are filled in, quantities and durations stand as they were written. */
export type Pipeline = z.infer<typeof pipeline>;
/** A Pipeline as users write it. */
export type PipelineInput = z.input<typeof pipeline>;
export type PipelineSpec = Pipeline['spec'];
export type StateSpec = PipelineSpec['state'];
export type ComponentSpec = PipelineSpec['component'];
