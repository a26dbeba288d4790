// A workload for the simulator: what asks for slots, when, and under which rules it is replayed.
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { DURATION_PATTERN, durationMs, type FieldPath, parse, quantityMilli } from '../../crds/schema/index.ts';
import { fieldText } from '../objects/index.ts';

export const RULE_NAMES = ['fifo', 'strict-priority', 'fixed-share', 'round-robin', 'fewest-held'] as const;
export type RuleName = (typeof RULE_NAMES)[number];

/** Rules that need no extra field of the workload; they run when the workload names none. */
const PLAIN_RULES: readonly RuleName[] = ['fifo', 'round-robin', 'fewest-held'];

const SLOTS_MAX = 10_000;
const CARDS_MAX = 64;
const WHOLE_CARD = 1_000;
const UPDATES_MAX = 1_000;
const WEIGHT_MAX = 1_000;
/** Bound on the tasks of a workload, so that a replay ends in seconds and fits in memory. */
const TASKS_MAX = 1_000_000;

const DURATION_WORDS = 'must be a duration such as 5ms, 2s or 1m30s';
const duration = z
  .string({ error: DURATION_WORDS })
  .max(32)
  .regex(DURATION_PATTERN, DURATION_WORDS)
  .transform((text) => durationMs(text));
const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const name = z.string().max(63).regex(segment, 'must be letters, digits, ".", "_" and "-"');
const path = z
  .string()
  .max(512)
  .refine((text) => text === '' || text.split('/').every((part) => segment.test(part)), {
    error: 'must be a path of live sources such as docs or docs/tickets, or "" for the pool',
  });

/** Thousandths of a card. */
const share = z
  .union([z.int(), z.string().max(16)])
  .refine(
    (value) => isShare(value),
    'must be a share below one card such as 500m, or a whole number of cards such as 2',
  )
  .transform((value) => quantityMilli(value));

function isShare(value: number | string): boolean {
  if (!/^[1-9]\d*m?$/.test(String(value))) return false;
  const milli = quantityMilli(value);
  return milli < WHOLE_CARD || milli % WHOLE_CARD === 0;
}

const update = z.strictObject({
  name,
  in: path.default(''),
  at: duration.default(0),
  tasks: z.int().min(1).max(TASKS_MAX),
  each: duration.refine((ms) => ms >= 1, 'must be at least 1ms'),
  gpu: share.optional(),
});

const workload = z.strictObject({
  slots: z.int().min(1).max(SLOTS_MAX),
  cards: z.int().min(1).max(CARDS_MAX).optional(),
  rules: z.array(z.enum(RULE_NAMES)).min(1).max(RULE_NAMES.length).optional(),
  priority: z.array(name).max(UPDATES_MAX).optional(),
  shares: z.record(name, z.int().min(1).max(SLOTS_MAX)).optional(),
  weights: z.record(z.string().max(512), z.int().min(1).max(WEIGHT_MAX)).optional(),
  lending: z.boolean().default(false),
  updates: z.array(update).min(1).max(UPDATES_MAX),
});

/** One update of a workload; times in milliseconds. */
export type WorkloadUpdate = z.output<typeof update>;
export type Workload = z.output<typeof workload>;

/** A workload that cannot be replayed; one line for each fault, naming the field. */
export class WorkloadError extends Error {
  override readonly name = 'WorkloadError';
}

interface Fault {
  readonly path: FieldPath;
  readonly message: string;
}

/** Rules to replay: what was asked for, else the workload's, else those that need no extra field. */
export function rulesOf(workload: Workload, asked: readonly RuleName[] = []): readonly RuleName[] {
  if (asked.length > 0) return asked;
  return workload.rules ?? PLAIN_RULES;
}

/** Paths of the live sources: every one on the way to an update. */
function sourcePaths(updates: readonly WorkloadUpdate[]): Set<string> {
  const paths = new Set<string>();
  for (const { in: path } of updates) {
    const parts = path === '' ? [] : path.split('/');
    for (const at of parts.keys()) paths.add(parts.slice(0, at + 1).join('/'));
  }
  return paths;
}

function* priorityFaults({ priority, updates }: Workload, rules: readonly RuleName[]): Generator<Fault> {
  const names = updates.map((update) => update.name);
  if (priority === undefined) {
    if (rules.includes('strict-priority'))
      yield { path: ['priority'], message: 'strict-priority needs the updates here, first to last' };
    return;
  }
  for (const [at, name] of priority.entries()) {
    if (!names.includes(name)) yield { path: ['priority', at], message: `no update is named ${name}` };
    if (priority.indexOf(name) !== at) yield { path: ['priority', at], message: `${name} is named twice` };
  }
  for (const name of names.filter((name) => !priority.includes(name)))
    yield { path: ['priority'], message: `the update ${name} is missing` };
}

function* shareFaults({ shares, updates, slots }: Workload, rules: readonly RuleName[]): Generator<Fault> {
  const names = updates.map((update) => update.name);
  if (shares === undefined) {
    if (rules.includes('fixed-share'))
      yield { path: ['shares'], message: 'fixed-share needs the slots of each update here' };
    return;
  }
  for (const name of Object.keys(shares))
    if (!names.includes(name)) yield { path: ['shares', name], message: `no update is named ${name}` };
  for (const name of names.filter((name) => shares[name] === undefined))
    yield { path: ['shares'], message: `the update ${name} is missing` };
  const sum = Object.values(shares).reduce((total, share) => total + share, 0);
  if (sum > slots) yield { path: ['shares'], message: `they add up to ${sum}, but there are ${slots} slots` };
}

function* updateFaults({ updates, weights }: Workload): Generator<Fault> {
  const first = new Map<string, number>();
  for (const [at, { name }] of updates.entries())
    if (first.has(name))
      yield { path: ['updates', at, 'name'], message: `updates[${first.get(name)}] is named ${name} too` };
    else first.set(name, at);
  const tasks = updates.reduce((total, update) => total + update.tasks, 0);
  if (tasks > TASKS_MAX) yield { path: ['updates'], message: `${tasks} tasks in all, more than ${TASKS_MAX}` };
  const paths = sourcePaths(updates);
  const known = paths.size === 0 ? 'all updates are in the pool itself' : `there are ${[...paths].join(', ')}`;
  for (const path of Object.keys(weights ?? {}))
    if (!paths.has(path)) yield { path: ['weights', path], message: `no live source has this path; ${known}` };
}

function* cardFaults({ updates, cards }: Workload): Generator<Fault> {
  for (const [at, { gpu }] of updates.entries()) {
    if (gpu === undefined) continue;
    const path = ['updates', at, 'gpu'];
    if (cards === undefined) yield { path, message: 'needs cards, the number of cards that there are' };
    else if (gpu > cards * WHOLE_CARD)
      yield { path, message: `asks for ${gpu / WHOLE_CARD} cards, and there are ${cards}` };
  }
}

/** Faults that one field alone does not show. */
function faultsBetweenFields(workload: Workload, rules: readonly RuleName[]): Fault[] {
  return [
    ...updateFaults(workload),
    ...cardFaults(workload),
    ...priorityFaults(workload, rules),
    ...shareFaults(workload, rules),
  ];
}

function refuse(where: string, faults: readonly Fault[]): never {
  const named = faults.map(({ path, message }) => (path.length === 0 ? message : `${fieldText(path)}: ${message}`));
  throw new WorkloadError(named.map((line) => `${where}: ${line}`).join('\n'));
}

/**
 * Reads a workload from YAML. `where` names it in messages, `asked` are the rules that the caller wants instead of the workload's.
 * Throws WorkloadError.
 */
export function parseWorkload(text: string, where: string, asked: readonly RuleName[] = []): Workload {
  const document = parseDocument(text);
  const broken = document.errors[0];
  if (broken !== undefined) throw new WorkloadError(`${where}: ${broken.message.split('\n')[0]}`);
  const parsed = parse(workload, document.toJS());
  if (!parsed.ok) refuse(where, parsed.problems);
  const faults = faultsBetweenFields(parsed.value, rulesOf(parsed.value, asked));
  if (faults.length > 0) refuse(where, faults);
  return parsed.value;
}
