// Keeps the runner pods of one Pipeline: observes pods and demand (`views.ts`), plans by class (`plan.ts`), and carries the plan out
// (`pod-writes.ts`).
//   K2. A template that the API server refuses makes no pod: a dry run says so (`template-checks.ts`).
//   K3. Pods that fail for good are replaced, each time later, from one second to five minutes; a runner that connected forgets that.
import type { RunnerSpec } from '../../../crds/schema/index.ts';
import { fingerprint, type RunnerPodSettings } from '../../blueprint/index.ts';
import type { Clock } from '../../clock.ts';
import type { ClassDemand } from '../../host/index.ts';
import type { Caches, Notes, PodObject, Writes } from '../ports.ts';
import type { Trouble } from '../status/picture.ts';
import { BackOffs } from './back-offs.ts';
import { Claims } from './claims.ts';
import { Expectations } from './expectations.ts';
import { type ClassState, classKey, type Kept, type KeptPipeline, ownerOf, podWish } from './kept.ts';
import { type ClassPicture, type ClassPlan, planClass, type RunnerPodView } from './plan.ts';
import { PodWrites, REFUSED_AGAIN_MS } from './pod-writes.ts';
import { TemplateChecks } from './template-checks.ts';
import { podTrouble } from './troubles.ts';
import { classOf, isAwaited, viewsOf } from './views.ts';

export interface KeeperOptions {
  readonly caches: Pick<Caches, 'podsOf'>;
  readonly writes: Writes;
  readonly notes: Notes;
  readonly clock: Clock;
  readonly settings: () => RunnerPodSettings;
  /** How long a pod with cards may wait for a node. */
  readonly pendingTimeoutMs: number;
}

/** A class as one look finds it. */
interface SeenClass {
  readonly runner: RunnerSpec;
  readonly pods: readonly PodObject[];
  readonly views: readonly RunnerPodView[];
  readonly fingerprint: string;
  readonly plan: ClassPlan;
  /** Cards are shared with others. */
  readonly isRationed: boolean;
}

interface KeptClass {
  readonly state: ClassState;
  readonly lookAgainAtMs: number | undefined;
}

const SOON_MS = 2_000;
const NO_DEMAND: ClassDemand = { executing: 0, waiting: 0 };

export class RunnerKeeper {
  readonly #options: KeeperOptions;
  readonly #expectations: Expectations;
  readonly #claims: Claims;
  readonly #backOffs: BackOffs;
  readonly #checks: TemplateChecks;
  readonly #pods: PodWrites;

  constructor(options: KeeperOptions) {
    const { clock, pendingTimeoutMs } = options;
    this.#options = options;
    this.#expectations = new Expectations(clock);
    this.#claims = new Claims(clock, pendingTimeoutMs);
    this.#backOffs = new BackOffs(clock);
    this.#checks = new TemplateChecks(options);
    this.#pods = new PodWrites({ ...options, expectations: this.#expectations, backOffs: this.#backOffs });
  }

  async keep(kept: KeptPipeline, signal: AbortSignal): Promise<Kept> {
    const demand = kept.host.demand();
    const classes: KeptClass[] = [];
    for (const runner of kept.spec.runners)
      classes.push(await this.#keepClass(kept, runner, demand.get(runner.name) ?? NO_DEMAND, signal));
    await this.#removeUnknownClasses(kept, signal);
    const expectedAtMs = this.#expectations.dueAtMs(ownerOf(kept), this.#podsOf(kept));
    const lookAgainAtMs = classes.map((one) => one.lookAgainAtMs).reduce(earliest, expectedAtMs);
    const states = classes.map(({ state }) => state);
    return lookAgainAtMs === undefined ? { classes: states } : { classes: states, lookAgainAtMs };
  }

  forget(ownerUid: string): void {
    this.#expectations.forget(ownerUid);
    this.#claims.forget(ownerUid);
    this.#backOffs.forget(ownerUid);
    this.#checks.forget(ownerUid);
  }

  async #keepClass(
    kept: KeptPipeline,
    runner: RunnerSpec,
    demand: ClassDemand,
    signal: AbortSignal,
  ): Promise<KeptClass> {
    const nowMs = this.#options.clock.nowMs();
    const seen = this.#look(kept, runner, demand, nowMs);
    const trouble = await this.#carryOut(kept, seen, signal);
    const claimAtMs = runner.gpus > 0 ? this.#claims.nextLookAtMs(classKey(kept, runner.name), seen.pods) : undefined;
    return { state: stateOf(seen, trouble), lookAgainAtMs: earliest(nextLook(seen.plan, trouble, nowMs), claimAtMs) };
  }

  // ---- observe and plan --------------------------------------------------------------------------------------------

  #look(kept: KeptPipeline, runner: RunnerSpec, demand: ClassDemand, nowMs: number): SeenClass {
    const all = this.#podsOf(kept);
    const pods = all.filter((pod) => classOf(pod) === runner.name);
    const seen = { host: kept.host, owner: ownerOf(kept), expectations: this.#expectations };
    const views = viewsOf(all, runner.name, seen);
    const mark = fingerprint(podWish(kept, runner, 0, this.#options.settings()));
    const backOff = this.#backOffs.of(classKey(kept, runner.name));
    const picture: ClassPicture = {
      ...demand,
      runner,
      pods: views,
      fingerprint: mark,
      isSuspended: kept.isSuspended,
      nowMs,
      ...(backOff !== undefined && { createNotBeforeMs: backOff.notBeforeMs }),
    };
    const allowance = runner.gpus > 0 ? this.#allowance(kept, picture, pods) : undefined;
    const plan = planClass(allowance === undefined ? picture : { ...picture, allowance });
    return { runner, pods, views, fingerprint: mark, plan, isRationed: allowance !== undefined };
  }

  /** Pods with cards that the class may have: of what it claims, what the cards' office leaves to it. */
  #allowance(kept: KeptPipeline, picture: ClassPicture, pods: readonly PodObject[]): number | undefined {
    const { runner } = picture;
    const { wanted } = planClass(picture);
    const claimed = this.#claims.claimed(classKey(kept, runner.name), wanted, pods);
    const allowed = kept.allowance(runner, claimed, picture.pods.length);
    return claimed < wanted ? Math.min(claimed, allowed ?? claimed) : allowed;
  }

  #podsOf(kept: KeptPipeline): readonly PodObject[] {
    return this.#options.caches.podsOf(ownerOf(kept));
  }

  // ---- apply -------------------------------------------------------------------------------------------------------

  /** Answers why pods of the class are not there. */
  async #carryOut(kept: KeptPipeline, seen: SeenClass, signal: AbortSignal): Promise<Trouble | undefined> {
    const { runner, plan, pods, views } = seen;
    const key = classKey(kept, runner.name);
    const before = this.#backOffs.of(key);
    if (views.some((view) => view.runner !== undefined)) this.#backOffs.end(key); // K3
    const wish = podWish(kept, runner, 0, this.#options.settings());
    const refusal = plan.creates.length > 0 ? await this.#checks.refusal(kept, wish, signal) : undefined; // K2
    for (const { name } of plan.drains) kept.host.drainPod(name);
    await this.#pods.delete(kept, runner, plan.deletes, pods, signal);
    const made = refusal ?? (await this.#pods.create(kept, runner, plan.creates, signal));
    return made ?? this.#troubleOf(pods) ?? before?.trouble;
  }

  #troubleOf(pods: readonly PodObject[]): Trouble | undefined {
    const nowMs = this.#options.clock.nowMs();
    return pods.map((pod) => podTrouble(pod, nowMs)).find((trouble) => trouble !== undefined);
  }

  /** Pods of classes that the spec has no more: they drain and go. */
  async #removeUnknownClasses(kept: KeptPipeline, signal: AbortSignal): Promise<void> {
    const known = new Set(kept.spec.runners.map(({ name }) => name));
    for (const pod of this.#podsOf(kept)) {
      if (known.has(classOf(pod)) || this.#expectations.isBeingDeleted(ownerOf(kept), pod)) continue;
      const runner = kept.host.runner(pod.metadata.name);
      kept.host.drainPod(pod.metadata.name);
      if (isAwaited(kept.host, pod) || (runner !== undefined && !runner.isDrained)) continue;
      await this.#pods.remove(kept, pod, signal);
    }
  }
}

function stateOf({ runner, plan, views, fingerprint: mark, isRationed }: SeenClass, trouble: Trouble | undefined) {
  const { desired, wanted } = plan;
  const connected = views.filter((view) => view.runner !== undefined && !view.runner.isDraining).length;
  const ready = Math.min(connected, desired);
  // Fewer than it would like is its fair share, and no trouble.
  const isShort = isRationed && desired === 0 && wanted > 0;
  const cards: Trouble = { reason: 'WaitingForCards', message: 'the cards that its pods need are held by others' };
  const shown = ready < desired ? trouble : isShort ? cards : undefined;
  return {
    name: runner.name,
    desired,
    ready,
    draining: views.filter((view) => view.isDeleting || view.runner?.isDraining).length,
    outdated: views.filter((view) => view.fingerprint !== mark).length,
    ...(shown !== undefined && { trouble: shown }),
  };
}

function nextLook(plan: ClassPlan, trouble: Trouble | undefined, nowMs: number): number | undefined {
  const times = plan.lookAgainAtMs === undefined ? [] : [plan.lookAgainAtMs];
  // Drained and expected pods make no event of the API server.
  if (plan.drains.length > 0 || plan.creates.length > 0) times.push(nowMs + SOON_MS);
  if (trouble !== undefined && plan.creates.length > 0) times.push(nowMs + REFUSED_AGAIN_MS);
  return times.length === 0 ? undefined : Math.min(...times);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
