// What a component that user code mounts is asked for with: its path, its input, and what decides whether its last result still holds.
import { type ComponentPath, childPath, type Json, type RunOrder } from '../protocol/index.ts';
import { type Component, type FieldValue, StepError } from '../sdk/index.ts';
import { canonicalJson, contentHashOf, shortHash } from './hash.ts';
import type { Life, ModuleInput } from './job.ts';
import { INPUT_MAX_BYTES, type MountWish } from './mounts.ts';
import type { CompiledModule } from './plan.ts';
import type { ComponentRecord } from './ports.ts';

export interface Wanted {
  readonly path: ComponentPath;
  readonly input: ModuleInput;
  readonly hash: string;
  readonly fingerprint: string;
  readonly sizeBytes: number;
}

/** What decides the result of a component, apart from its input. */
export const componentFingerprint = (step: CompiledModule, call: string, life?: Life): string =>
  shortHash(JSON.stringify(['component', call, step.fingerprint, ...(life === undefined ? [] : [life])]));

export const inputHash = (input: Json): string => contentHashOf(canonicalJson(input as FieldValue));

/** Throws StepError where it cannot be mounted: the function is not exported, the key is no text, the input no JSON or too large. */
export function wantedOf(
  step: CompiledModule,
  parent: ComponentPath,
  mounting: { readonly component: Component<never, unknown>; readonly key: string; readonly input: unknown },
  life?: Life,
): Wanted {
  const { component, key, input } = mounting;
  if (typeof key !== 'string' || key === '') throw new StepError('invalid', 'the key of a component must be text');
  const call = exportedName(step, component, key);
  const plain = asJson(input, key);
  const sizeBytes = Buffer.byteLength(JSON.stringify(plain));
  if (sizeBytes > INPUT_MAX_BYTES) {
    throw new StepError(
      'invalid',
      `the input of the component "${key}" takes ${sizeBytes} bytes, at most ${INPUT_MAX_BYTES} can be passed; pass a reference and read the content in the component`,
    );
  }
  return {
    path: childPath(parent, key),
    input: { module: step.index, call, input: plain, ...(life === undefined ? {} : { life }) },
    hash: inputHash(plain),
    fingerprint: componentFingerprint(step, call, life),
    sizeBytes,
  };
}

/** Name under which any runner finds the function. */
export function exportedName({ module }: CompiledModule, component: Component<never, unknown>, key: string): string {
  const name = module.nameOf(component);
  if (name !== undefined) return name;
  throw new StepError(
    'invalid',
    `${module.name} must export the component that is mounted as "${key}", so that any runner finds it`,
  );
}

/** Whether the record is of the same input under the same code, and all its rows are there. */
export function isKnown(record: ComponentRecord | undefined, { hash, fingerprint }: Wanted): record is ComponentRecord {
  return (
    record !== undefined &&
    record.contentHash === hash &&
    record.fingerprint === fingerprint &&
    record.intended.size === 0
  );
}

/** The request, on behalf of a run. `isShared`: runs of equal input share one outcome (A9). */
export function moduleRequest(
  { path, input, hash, fingerprint, sizeBytes }: Wanted,
  order: RunOrder,
  { runnerClass, gpuMilli }: Pick<CompiledModule, 'runnerClass' | 'gpuMilli'>,
  { isShared = false, reprocess = false }: { readonly isShared?: boolean; readonly reprocess?: boolean } = {},
): MountWish {
  return {
    path,
    kind: 'module',
    input,
    rows: 1,
    bytes: sizeBytes,
    ...(isShared ? { version: `${hash} ${fingerprint}${reprocess ? ` ${order.update}` : ''}` } : {}),
    ...(order.source === undefined ? {} : { source: order.source }),
    ...(order.key === undefined ? {} : { key: order.key }),
    ...(runnerClass === undefined ? {} : { runnerClass }),
    ...(gpuMilli === undefined ? {} : { milliCards: gpuMilli }),
    ...(reprocess ? { reprocess: true } : {}),
  };
}

/** The value as JSON carries it. */
export function asJson(value: unknown, key: string): Json {
  if (value === undefined) return null;
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return JSON.parse(text) as Json;
  } catch {
    // Said below.
  }
  throw new StepError('invalid', `what is passed to or from the component "${key}" must be JSON`);
}
