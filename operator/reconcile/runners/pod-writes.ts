// Carries a plan out: pods of a class drain, go and come.
//   K1. Names follow from Pipeline, class and ordinal, and what was asked for counts as there (X1): never more pods than planned.
import type { RunnerSpec } from '../../../crds/schema/index.ts';
import { fingerprint, type RunnerPodSettings, runnerPod } from '../../blueprint/index.ts';
import type { Clock } from '../../clock.ts';
import type { CreateResult, Notes, PodObject, StoredObject, Writes } from '../ports.ts';
import type { Trouble } from '../status/picture.ts';
import type { BackOffs } from './back-offs.ts';
import type { Expectations } from './expectations.ts';
import { classKey, type KeptPipeline, ownerOf, podWish } from './kept.ts';
import type { ClassPlan, RunnerPodView } from './plan.ts';
import { templateRefused } from './template-checks.ts';
import { podTrouble } from './troubles.ts';

export interface PodWritesOptions {
  readonly writes: Writes;
  readonly notes: Notes;
  readonly clock: Clock;
  readonly settings: () => RunnerPodSettings;
  readonly expectations: Expectations;
  readonly backOffs: BackOffs;
}

/** After a refusal that neither the template nor the pod is to blame for. */
export const REFUSED_AGAIN_MS = 30_000;

const WHY: Readonly<Record<Exclude<ClassPlan['deletes'][number]['why'], 'failed'>, string>> = {
  idle: 'it had nothing to do',
  outdated: 'its template changed',
  surplus: 'it is not needed',
};

export class PodWrites {
  readonly #options: PodWritesOptions;

  constructor(options: PodWritesOptions) {
    this.#options = options;
  }

  /** Makes the pods of these ordinals; answers why one could not be made, which ends it. */
  async create(
    kept: KeptPipeline,
    runner: RunnerSpec,
    ordinals: readonly number[],
    signal: AbortSignal,
  ): Promise<Trouble | undefined> {
    for (const ordinal of ordinals) {
      const trouble = await this.#create(kept, runner, ordinal, signal);
      if (trouble !== undefined) return trouble;
    }
    return undefined;
  }

  async #create(kept: KeptPipeline, runner: RunnerSpec, ordinal: number, signal: AbortSignal) {
    const { expectations, writes, settings } = this.#options;
    const wish = podWish(kept, runner, ordinal, settings());
    const manifest = runnerPod(wish);
    const { name } = manifest.metadata;
    const expected = { name, ordinal, fingerprint: fingerprint(wish), runnerClass: runner.name };
    expectations.creating(ownerOf(kept), expected); // X1: before it is sent
    const result = await writes.createPod(manifest, signal);
    if (result.kind === 'created')
      this.#note(kept.object, 'RunnerCreated', 'Create', `Pod ${name} of class ${runner.name} was made.`);
    if (result.kind !== 'refused') return undefined; // where the answer was lost, or a pod of that name is there, the cache will show it
    expectations.notCreated(ownerOf(kept), name);
    return this.#refused(kept, runner, result);
  }

  #refused(kept: KeptPipeline, runner: RunnerSpec, { why, message }: CreateResult & { readonly kind: 'refused' }) {
    if (why === 'template') return templateRefused(runner.name, message);
    const trouble: Trouble =
      why === 'quota'
        ? { reason: 'QuotaExceeded', message }
        : { reason: 'Deleting', message: 'the namespace is being deleted' };
    this.#options.backOffs.hold(classKey(kept, runner.name), REFUSED_AGAIN_MS, trouble);
    return trouble;
  }

  /** Deletes these pods, as far as `pods` has them: one that is only expected is decided upon at the next look. */
  async delete(
    kept: KeptPipeline,
    runner: RunnerSpec,
    deletes: ClassPlan['deletes'],
    pods: readonly PodObject[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const { pod: view, why } of deletes) {
      const pod = pods.find(({ metadata }) => metadata.uid === view.uid && view.uid !== '');
      if (pod === undefined) continue;
      await this.remove(kept, pod, signal);
      if (why === 'failed') this.#failed(kept, runner, view, pod);
      else this.#note(kept.object, 'RunnerRemoved', 'Delete', `Pod ${view.name} was removed: ${WHY[why]}.`);
    }
  }

  async remove(kept: KeptPipeline, pod: PodObject, signal: AbortSignal): Promise<void> {
    const { expectations, writes } = this.#options;
    const { uid = '' } = pod.metadata;
    expectations.deleting(ownerOf(kept), uid);
    const result = await writes.deletePod(pod, signal);
    if (result === 'conflict') expectations.notDeleted(ownerOf(kept), uid);
  }

  #failed(kept: KeptPipeline, runner: RunnerSpec, { name }: RunnerPodView, pod: PodObject): void {
    const trouble = podTrouble(pod, this.#options.clock.nowMs());
    this.#options.backOffs.failed(classKey(kept, runner.name), trouble);
    const { reason = 'RunnerCrashLooping', message = `pod ${name} ended` } = trouble ?? {};
    this.#options.notes.record(kept.object, { type: 'Warning', reason, action: 'Replace', note: `${message}.` });
  }

  #note(object: StoredObject, reason: string, action: string, note: string): void {
    this.#options.notes.record(object, { type: 'Normal', reason, action, note });
  }
}
