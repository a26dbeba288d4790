// Names of what the operator makes. They are functions of the owner, the role and the ordinal, so that a repeated create
// answers "already exists" instead of making a second pod, however stale a cache is (F97).
import { createHash } from 'node:crypto';
import { LABELS } from '../../crds/schema/index.ts';

const NAME_MAX = 63;
const HASH_LENGTH = 8;

/** Short hash for names and fingerprints; stable across releases and key orders. */
export function shortHash(value: unknown, length = HASH_LENGTH): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, length);
}

/** JSON with sorted keys and without absent members: equal meaning gives equal text. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.join(',')}}`;
}

/** A name or label value of at most 63 characters; what is cut off is replaced by a hash of the whole. */
export function bounded(name: string): string {
  if (name.length <= NAME_MAX) return name;
  return `${name.slice(0, NAME_MAX - HASH_LENGTH - 1).replace(/[-.]+$/, '')}-${shortHash(name)}`;
}

/** Name of the pod that is number `ordinal` of a class. */
export function runnerPodName(pipeline: string, runnerClass: string, ordinal: number): string {
  // A pipeline `a` with class `b-c` and a pipeline `a-b` with class `c` must not meet in one name.
  return bounded(`${pipeline}-${runnerClass}-${ordinal}-${shortHash([pipeline, runnerClass], 5)}`);
}

/** Labels that select the runner pods of a Pipeline; nothing else is ever selected by. */
export function runnerLabels(
  pipeline: { readonly name: string; readonly uid: string },
  runnerClass?: string,
): Record<string, string> {
  return {
    [LABELS.pipeline]: bounded(pipeline.name),
    [LABELS.ownerUid]: pipeline.uid,
    ...(runnerClass === undefined ? {} : { [LABELS.runnerClass]: runnerClass }),
  };
}
