// Classes of runner: the long-lived pods that execute runs.
import type { z } from 'zod';
import { duration, int, listBy, name, object, opaque, worded } from './fields.ts';
import { atMost } from './rules.ts';

const replicas = object(
  'How many pods of the class there are. Absent: 0 to 1.',
  {
    min: int('Fewest pods, also while idle. Default 0.', 0, 10_000).default(0),
    max: int('Most pods. Default 1.', 1, 10_000).default(1),
  },
  { holds: atMost('self.min', 'self.max'), message: 'replicas.min must not be above replicas.max', fieldPath: '.min' },
).default({ min: 0, max: 1 });

const runner = object('A class of runner.', {
  name: name('Name of the class.'),
  slots: int('Runs that one pod executes at once. Default 64.', 1, 100_000).default(64),
  gpus: int('Cards of one pod. Default 0.', 0, 64).default(0),
  resourceName: worded(
    'Resource that the cards are counted in; another vendor, or a MIG profile such as nvidia.com/mig-1g.10gb. Default nvidia.com/gpu.',
    253,
    /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
    'must be a resource with its domain, such as nvidia.com/gpu',
  ).default('nvidia.com/gpu'),
  replicas,
  idleAfter: duration(
    'How long a pod above replicas.min stays without work before it goes. Go duration, default 5m.',
    '1s',
    '168h',
  ).default('5m'),
  template: opaque(
    'Pod template (metadata and spec) that is laid over what the operator makes. Kept as written; the API server checks it when a pod is made. Absent: the plain runner.',
  ).optional(),
});

/** Class that a Pipeline has which names none. */
export const DEFAULT_RUNNER = {
  name: 'default',
  slots: 64,
  gpus: 0,
  resourceName: 'nvidia.com/gpu',
  replicas: { min: 0, max: 1 },
  idleAfter: '5m',
};

export const runners = listBy(
  'Classes of runner pods. Absent: one class named default with 64 slots and no cards, 0 to 1 pods. On one machine the one process stands for all of them.',
  'name',
  runner,
  1,
  16,
).default([DEFAULT_RUNNER]);

/** A class of runner. */
export type RunnerSpec = z.infer<typeof runner>;
