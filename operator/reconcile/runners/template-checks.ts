// What the API server says to the pod of a class, before any is made (K2): asked once for each fingerprint, and of one that it refused again
// after a while, since what it was refused for may be the namespace's (Pod Security, limits).
import { fingerprint, type RunnerPodWish, runnerPod } from '../../blueprint/index.ts';
import type { Clock } from '../../clock.ts';
import type { Notes, Writes } from '../ports.ts';
import type { Trouble } from '../status/picture.ts';
import { classKey, forgetClasses, type KeptPipeline } from './kept.ts';

interface Checked {
  readonly fingerprint: string;
  readonly refusal: string | undefined;
  readonly atMs: number;
}

const REFUSED_AGAIN_MS = 60_000;
/** Of a name of 63 characters, what leaves room for the suffix. */
const NAME_MAX = 57;

export class TemplateChecks {
  readonly #options: { readonly writes: Writes; readonly notes: Notes; readonly clock: Clock };
  readonly #checked = new Map<string, Checked>();

  constructor(options: { readonly writes: Writes; readonly notes: Notes; readonly clock: Clock }) {
    this.#options = options;
  }

  /** Undefined: it would take the pod. */
  async refusal(kept: KeptPipeline, wish: RunnerPodWish, signal: AbortSignal): Promise<Trouble | undefined> {
    const key = classKey(kept, wish.runner.name);
    const mark = fingerprint(wish);
    const nowMs = this.#options.clock.nowMs();
    const known = this.#checked.get(key);
    const isKnown = known?.fingerprint === mark;
    if (known !== undefined && isKnown && (known.refusal === undefined || nowMs - known.atMs < REFUSED_AGAIN_MS))
      return troubleOf(wish, known.refusal);
    const refusal = await this.#options.writes.checkPod(tried(wish), signal);
    this.#checked.set(key, { fingerprint: mark, refusal, atMs: nowMs });
    const trouble = troubleOf(wish, refusal);
    if (trouble !== undefined && !isKnown) this.#note(kept, wish, trouble);
    return trouble;
  }

  /** A Pipeline is gone. */
  forget(ownerUid: string): void {
    forgetClasses(this.#checked, ownerUid);
  }

  #note({ object }: KeptPipeline, { runner }: RunnerPodWish, { reason, message }: Trouble): void {
    const note = `Class ${runner.name}: ${message}`;
    this.#options.notes.record(object, { type: 'Warning', reason, action: 'Check', note });
  }
}

/** A name of its own: a pod of that name may be there. */
function tried(wish: RunnerPodWish) {
  const manifest = runnerPod(wish);
  const name = `${manifest.metadata.name.slice(0, NAME_MAX)}-check`;
  return { ...manifest, metadata: { ...manifest.metadata, name } };
}

const troubleOf = ({ runner }: RunnerPodWish, refusal: string | undefined): Trouble | undefined =>
  refusal === undefined ? undefined : templateRefused(runner.name, refusal);

export function templateRefused(runnerClass: string, message: string): Trouble {
  return { reason: 'TemplateRefused', message: `the API server refuses the pod of class ${runnerClass}: ${message}` };
}
