// Keeps the runner pods of one Pipeline: observes pods and demand, plans by class (`plan.ts`), and carries the plan out.
//   K1. Names follow from Pipeline, class and ordinal, and what was asked for counts as there (X1): never more pods than planned.
//   K2. A template that the API server refuses makes no pod: a dry run says so, once for each fingerprint.
//   K3. Pods that fail for good are replaced, each time later, from one second to five minutes; a runner that connected forgets that.
import { API_VERSION, LABELS, type PipelineSpec, type RunnerSpec } from '../../../crds/schema/index.ts';
import {
  FINGERPRINT,
  fingerprint,
  ORDINAL,
  type RunnerPodSettings,
  type RunnerPodWish,
  runnerPod,
} from '../../blueprint/index.ts';
import type { Clock } from '../../clock.ts';
import type { ClassDemand, PipelineHost } from '../../host/index.ts';
import type { Caches, Notes, PodObject, StoredObject, Writes } from '../ports.ts';
import type { Trouble } from '../status/picture.ts';
import { Claims } from './claims.ts';
import { Expectations, type ExpectedPod } from './expectations.ts';
import { type ClassPlan, planClass, type RunnerPodView } from './plan.ts';
import { podTrouble } from './troubles.ts';

export interface KeeperOptions {
  readonly caches: Pick<Caches, 'podsOf'>;
  readonly writes: Writes;
  readonly notes: Notes;
  readonly clock: Clock;
  readonly settings: () => RunnerPodSettings;
  /** How long a pod with cards may wait for a node. */
  readonly pendingTimeoutMs: number;
}

/** A Pipeline whose runners are to be kept. */
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

interface Backoff {
  failures: number;
  notBeforeMs: number;
  trouble?: Trouble;
}

const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_MAX_MS = 300_000;
const QUOTA_RETRY_MS = 30_000;
const SOON_MS = 2_000;

export class RunnerKeeper {
  readonly #options: KeeperOptions;
  readonly #expectations: Expectations;
  readonly #claims: Claims;
  readonly #backoffs = new Map<string, Backoff>();
  /** What the API server said to the template of a fingerprint (K2). */
  readonly #checked = new Map<string, { readonly fingerprint: string; readonly refusal: string | undefined }>();

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#expectations = new Expectations(options.clock);
    this.#claims = new Claims(options.clock, options.pendingTimeoutMs);
  }

  async keep(kept: KeptPipeline, signal: AbortSignal): Promise<Kept> {
    const demand = kept.host.demand();
    const states: { state: ClassState; lookAgainAtMs: number | undefined }[] = [];
    for (const runner of kept.spec.runners)
      states.push(await this.#keepClass(kept, runner, demand.get(runner.name) ?? NO_DEMAND, signal));
    await this.#removeUnknownClasses(kept, signal);
    const owner = kept.object.metadata.uid ?? '';
    const expectedAtMs = this.#expectations.dueAtMs(owner, this.#options.caches.podsOf(owner));
    const lookAgainAtMs = states.map((one) => one.lookAgainAtMs).reduce(earliest, expectedAtMs);
    const classes = states.map(({ state }) => state);
    return lookAgainAtMs === undefined ? { classes } : { classes, lookAgainAtMs };
  }

  forget(ownerUid: string): void {
    this.#expectations.forget(ownerUid);
    this.#claims.forget(ownerUid);
    for (const key of [...this.#backoffs.keys()]) if (key.startsWith(`${ownerUid}/`)) this.#backoffs.delete(key);
    for (const key of [...this.#checked.keys()]) if (key.startsWith(`${ownerUid}/`)) this.#checked.delete(key);
  }

  // ---- observe -----------------------------------------------------------------------------------------------------

  async #keepClass(kept: KeptPipeline, runner: RunnerSpec, demand: ClassDemand, signal: AbortSignal) {
    const { clock } = this.#options;
    const nowMs = clock.nowMs();
    const wish = this.#wish(kept, runner, 0);
    const mark = fingerprint(wish);
    const pods = this.#podsOf(kept, runner.name);
    const views = this.#views(kept, runner.name, pods);
    const backoff = this.#backoff(kept, runner.name);
    if (views.some((view) => view.runner !== undefined)) this.#backoffs.delete(backoff.key); // K3
    const picture = {
      runner,
      pods: views,
      fingerprint: mark,
      executing: demand.executing,
      waiting: demand.waiting,
      ...(demand.milliCards !== undefined && { milliCards: demand.milliCards }),
      isSuspended: kept.isSuspended,
      nowMs,
      ...(backoff.state !== undefined && { createNotBeforeMs: backoff.state.notBeforeMs }),
    };
    const wanted = planClass(picture).wanted;
    const allowance = runner.gpus > 0 ? this.#allowance(kept, runner, wanted, pods, views.length) : undefined;
    const plan = planClass(allowance === undefined ? picture : { ...picture, allowance });
    const refusal = plan.creates.length > 0 ? await this.#check(kept, wish, mark, signal) : undefined;
    const trouble = await this.#carryOut(kept, runner, plan, { refusal, mark, pods, backoff: backoff.state }, signal);
    const connected = views.filter(({ runner: view }) => view !== undefined && !view.isDraining).length;
    const draining = views.filter(({ runner: view, isDeleting }) => isDeleting || view?.isDraining).length;
    const outdated = views.filter((view) => view.fingerprint !== mark).length;
    const ready = Math.min(connected, plan.desired);
    // Fewer than it would like is its fair share, and no trouble.
    const isShort = plan.desired === 0 && plan.wanted > 0 && allowance !== undefined;
    const cards: Trouble = { reason: 'WaitingForCards', message: 'the cards that its pods need are held by others' };
    const shown = ready < plan.desired ? trouble : isShort ? cards : undefined;
    return {
      state: {
        name: runner.name,
        desired: plan.desired,
        ready,
        draining,
        outdated,
        ...(shown !== undefined && { trouble: shown }),
      },
      lookAgainAtMs: earliest(
        this.#nextLook(plan, trouble, nowMs),
        runner.gpus > 0 ? this.#claims.nextLookAtMs(backoff.key, pods) : undefined,
      ),
    };
  }

  /** Pods with cards that the class may have: of what it claims, what the cards' office leaves to it. */
  #allowance(
    kept: KeptPipeline,
    runner: RunnerSpec,
    wantedPods: number,
    pods: readonly PodObject[],
    heldPods: number,
  ): number | undefined {
    const claimed = this.#claims.claimed(this.#backoff(kept, runner.name).key, wantedPods, pods);
    const allowed = kept.allowance(runner, claimed, heldPods);
    return claimed < wantedPods ? Math.min(claimed, allowed ?? claimed) : allowed;
  }

  #podsOf({ object }: KeptPipeline, runnerClass: string): PodObject[] {
    return this.#options.caches
      .podsOf(object.metadata.uid ?? '')
      .filter(({ metadata }) => metadata.labels?.[LABELS.runnerClass] === runnerClass);
  }

  #views({ object, host }: KeptPipeline, runnerClass: string, pods: readonly PodObject[]): RunnerPodView[] {
    const owner = object.metadata.uid ?? '';
    const shown = pods.map((pod): RunnerPodView => {
      const { metadata, status } = pod;
      const runner = host.runner(metadata.name);
      return {
        name: metadata.name,
        uid: metadata.uid ?? '',
        ordinal: Number(metadata.annotations?.[ORDINAL] ?? '0'),
        fingerprint: metadata.annotations?.[FINGERPRINT] ?? '',
        phase: (status?.phase ?? 'Pending') as RunnerPodView['phase'],
        isDeleting: this.#expectations.isBeingDeleted(owner, pod),
        isAwaited: isAwaited(host, pod),
        ...(runner !== undefined && {
          runner: {
            executing: runner.runs,
            isDraining: runner.isDraining,
            isDrained: runner.isDrained,
            ...(runner.idleSinceMs !== undefined && { idleSinceMs: runner.idleSinceMs }),
          },
        }),
      };
    });
    const all = this.#options.caches.podsOf(owner);
    const missing = this.#expectations.missing(owner, all).filter((pod) => pod.runnerClass === runnerClass);
    return [...shown, ...missing.map(comingPod)];
  }

  #wish({ object, secrets, spec }: KeptPipeline, runner: RunnerSpec, ordinal: number): RunnerPodWish {
    const pipeline = {
      ...object,
      apiVersion: API_VERSION,
      kind: 'Pipeline',
      spec,
    } as unknown as RunnerPodWish['pipeline'];
    return { pipeline, runner, ordinal, secrets, settings: this.#options.settings() };
  }

  #backoff(
    { object }: KeptPipeline,
    runnerClass: string,
  ): { readonly key: string; readonly state: Backoff | undefined } {
    const key = `${object.metadata.uid}/${runnerClass}`;
    return { key, state: this.#backoffs.get(key) };
  }

  // ---- apply -------------------------------------------------------------------------------------------------------

  /** Answers why pods of the class are not there. */
  async #carryOut(
    kept: KeptPipeline,
    runner: RunnerSpec,
    plan: ClassPlan,
    seen: {
      readonly refusal: string | undefined;
      readonly mark: string;
      readonly pods: readonly PodObject[];
      readonly backoff: Backoff | undefined;
    },
    signal: AbortSignal,
  ): Promise<Trouble | undefined> {
    for (const { name } of plan.drains) kept.host.drainPod(name);
    for (const { pod, why } of plan.deletes) await this.#delete(kept, runner, pod, why, seen.pods, signal);
    const nowMs = this.#options.clock.nowMs();
    const ofPods = seen.pods.map((pod) => podTrouble(pod, nowMs)).find((trouble) => trouble !== undefined);
    if (seen.refusal !== undefined) return templateRefused(runner, seen.refusal);
    for (const ordinal of plan.creates) {
      const trouble = await this.#create(kept, runner, ordinal, seen.mark, signal);
      if (trouble !== undefined) return trouble;
    }
    return ofPods ?? seen.backoff?.trouble;
  }

  async #create(kept: KeptPipeline, runner: RunnerSpec, ordinal: number, mark: string, signal: AbortSignal) {
    const { object } = kept;
    const owner = object.metadata.uid ?? '';
    const manifest = runnerPod(this.#wish(kept, runner, ordinal));
    const { name } = manifest.metadata;
    this.#expectations.creating(owner, { name, ordinal, fingerprint: mark, runnerClass: runner.name }); // X1: before it is sent
    const result = await this.#options.writes.createPod(manifest, signal);
    if (result.kind === 'created') {
      this.#note(object, 'Normal', 'RunnerCreated', 'Create', `Pod ${name} of class ${runner.name} was made.`);
      return undefined;
    }
    if (result.kind === 'unknown' || result.kind === 'exists') return undefined; // the cache will show it
    this.#expectations.notCreated(owner, name);
    if (result.why === 'template') return templateRefused(runner, result.message);
    const trouble: Trouble =
      result.why === 'quota'
        ? { reason: 'QuotaExceeded', message: result.message }
        : { reason: 'Deleting', message: 'the namespace is being deleted' };
    this.#backoffs.set(this.#backoff(kept, runner.name).key, {
      failures: 0,
      notBeforeMs: this.#options.clock.nowMs() + QUOTA_RETRY_MS,
      trouble,
    });
    return trouble;
  }

  async #delete(
    kept: KeptPipeline,
    runner: RunnerSpec,
    view: RunnerPodView,
    why: string,
    pods: readonly PodObject[],
    signal: AbortSignal,
  ): Promise<void> {
    const pod = pods.find(({ metadata }) => metadata.uid === view.uid && view.uid !== '');
    if (pod === undefined) return; // not there yet: the next look decides
    const owner = kept.object.metadata.uid ?? '';
    const trouble = podTrouble(pod, this.#options.clock.nowMs());
    this.#expectations.deleting(owner, view.uid);
    const result = await this.#options.writes.deletePod(pod, signal);
    if (result === 'conflict') this.#expectations.notDeleted(owner, view.uid);
    if (why !== 'failed') {
      this.#note(kept.object, 'Normal', 'RunnerRemoved', 'Delete', `Pod ${view.name} was removed: ${WHY[why] ?? why}.`);
      return;
    }
    this.#failed(kept, runner, trouble);
    const text = trouble?.message ?? `pod ${view.name} ended`;
    this.#note(kept.object, 'Warning', trouble?.reason ?? 'RunnerCrashLooping', 'Replace', `${text}.`);
  }

  #failed(kept: KeptPipeline, runner: RunnerSpec, trouble: Trouble | undefined): void {
    const { key, state } = this.#backoff(kept, runner.name);
    const failures = (state?.failures ?? 0) + 1;
    const waitMs = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failures - 1));
    const notBeforeMs = this.#options.clock.nowMs() + waitMs;
    this.#backoffs.set(key, { failures, notBeforeMs, ...(trouble !== undefined && { trouble }) });
  }

  /** Pods of classes that the spec has no more: they drain and go. */
  async #removeUnknownClasses(kept: KeptPipeline, signal: AbortSignal): Promise<void> {
    const known = new Set(kept.spec.runners.map(({ name }) => name));
    const owner = kept.object.metadata.uid ?? '';
    for (const pod of this.#options.caches.podsOf(owner)) {
      const runnerClass = pod.metadata.labels?.[LABELS.runnerClass] ?? '';
      if (known.has(runnerClass) || this.#expectations.isBeingDeleted(owner, pod)) continue;
      const runner = kept.host.runner(pod.metadata.name);
      kept.host.drainPod(pod.metadata.name);
      if (isAwaited(kept.host, pod) || (runner !== undefined && !runner.isDrained)) continue;
      this.#expectations.deleting(owner, pod.metadata.uid ?? '');
      await this.#options.writes.deletePod(pod, signal);
    }
  }

  /** K2. */
  async #check(
    kept: KeptPipeline,
    wish: RunnerPodWish,
    mark: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const key = `${kept.object.metadata.uid}/${wish.runner.name}`;
    const known = this.#checked.get(key);
    if (known?.fingerprint === mark) return known.refusal;
    const manifest = runnerPod(wish);
    // A name of its own: a pod of that name may be there.
    const tried = {
      ...manifest,
      metadata: { ...manifest.metadata, name: `${manifest.metadata.name.slice(0, 57)}-check` },
    };
    const refusal = await this.#options.writes.checkPod(tried, signal);
    this.#checked.set(key, { fingerprint: mark, refusal });
    if (refusal !== undefined) {
      const text = templateRefused(wish.runner, refusal).message;
      this.#note(kept.object, 'Warning', 'TemplateRefused', 'Check', `Class ${wish.runner.name}: ${text}`);
    }
    return refusal;
  }

  #nextLook(plan: ClassPlan, trouble: Trouble | undefined, nowMs: number): number | undefined {
    const times = plan.lookAgainAtMs === undefined ? [] : [plan.lookAgainAtMs];
    // Drained and expected pods make no event of the API server.
    if (plan.drains.length > 0 || plan.creates.length > 0) times.push(nowMs + SOON_MS);
    if (trouble !== undefined && plan.creates.length > 0) times.push(nowMs + QUOTA_RETRY_MS);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #note(object: StoredObject, type: 'Normal' | 'Warning', reason: string, action: string, note: string): void {
    this.#options.notes.record(object, { type, reason, action, note });
  }
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

const NO_DEMAND: ClassDemand = { executing: 0, waiting: 0 };

const WHY: Readonly<Record<string, string>> = {
  idle: 'it had nothing to do',
  outdated: 'its template changed',
  surplus: 'it is not needed',
};

function comingPod({ name, ordinal, fingerprint: mark }: ExpectedPod): RunnerPodView {
  return { name, uid: '', ordinal, fingerprint: mark, phase: 'Pending', isDeleting: false };
}

function templateRefused({ name }: RunnerSpec, message: string): Trouble {
  return { reason: 'TemplateRefused', message: `the API server refuses the pod of class ${name}: ${message}` };
}

/** Until all runners of an earlier operator are accounted for, one that is not heard of may execute runs. */
const isAwaited = (host: KeptPipeline['host'], { metadata, status }: PodObject): boolean =>
  !host.isSettled && status?.phase === 'Running' && host.runner(metadata.name) === undefined;
