// A Pipeline whose runners are to be kept, and what came of it.
import { API_VERSION, type PipelineSpec, type RunnerSpec } from '../../../crds/schema/index.ts';
import type { RunnerPodSettings, RunnerPodWish } from '../../blueprint/index.ts';
import type { PipelineHost } from '../../host/index.ts';
import type { StoredObject } from '../ports.ts';
import type { Trouble } from '../status/picture.ts';

export interface KeptPipeline {
  readonly object: StoredObject;
  readonly spec: PipelineSpec;
  readonly secrets: readonly string[];
  readonly host: PipelineHost;
  /** No runner is needed longer than its runs. */
  readonly isSuspended: boolean;
  /** Pods that a class with cards may have, from what it wants and has; undefined: as many as it wants. */
  readonly allowance: (runner: RunnerSpec, wantedPods: number, heldPods: number) => number | undefined;
}

export interface ClassState {
  readonly name: string;
  readonly desired: number;
  readonly ready: number;
  readonly draining: number;
  /** Pods of an earlier template. */
  readonly outdated: number;
  readonly trouble?: Trouble;
}

export interface Kept {
  readonly classes: readonly ClassState[];
  readonly lookAgainAtMs?: number;
}

export const ownerOf = ({ object }: KeptPipeline): string => object.metadata.uid ?? '';

/** Names a class of a Pipeline, for what is remembered of it. */
export const classKey = (kept: KeptPipeline, runnerClass: string): string => `${ownerOf(kept)}/${runnerClass}`;

/** Removes what is remembered of the classes of a Pipeline. */
export function forgetClasses(remembered: Map<string, unknown>, ownerUid: string): void {
  for (const key of [...remembered.keys()]) if (key.startsWith(`${ownerUid}/`)) remembered.delete(key);
}

/** What a pod of a class is made from. */
export function podWish(
  { object, secrets, spec }: KeptPipeline,
  runner: RunnerSpec,
  ordinal: number,
  settings: RunnerPodSettings,
): RunnerPodWish {
  const pipeline = {
    ...object,
    apiVersion: API_VERSION,
    kind: 'Pipeline',
    spec,
  } as unknown as RunnerPodWish['pipeline'];
  return { pipeline, runner, ordinal, secrets, settings };
}
