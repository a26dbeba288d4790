// The Service of a Pipeline with push sources. It stays when the last of them goes, so that its address does, and goes with the Pipeline, which owns it.
import type { LiveSourceSpec } from '../../../crds/schema/index.ts';
import { pushService } from '../../blueprint/index.ts';
import type { Clock } from '../../clock.ts';
import type { Notes, StoredObject, Writes } from '../ports.ts';

export interface PushServicesOptions {
  readonly writes: Pick<Writes, 'applyService'>;
  readonly notes: Notes;
  readonly clock: Clock;
}

interface Applied {
  readonly atMs: number;
  /** Why the API server refused it. */
  readonly refusal: string | undefined;
}

/** Services are not watched: one that somebody took away is back after this time and the routine look that follows. */
const AGAIN_MS = 600_000;

export class PushServices {
  readonly #options: PushServicesOptions;
  /** By the uid of the Pipeline. */
  readonly #applied = new Map<string, Applied>();

  constructor(options: PushServicesOptions) {
    this.#options = options;
  }

  async keep(object: StoredObject, sources: Iterable<LiveSourceSpec>, signal: AbortSignal): Promise<void> {
    const { writes, clock } = this.#options;
    const { name, namespace = 'default', uid = '' } = object.metadata;
    const known = this.#applied.get(uid);
    const atMs = clock.nowMs();
    if ((known !== undefined && atMs - known.atMs < AGAIN_MS) || !takesPushes(sources)) return;
    const refusal = await writes.applyService(pushService({ name, namespace, uid }), signal);
    this.#applied.set(uid, { atMs, refusal });
    if (refusal !== undefined && refusal !== known?.refusal) this.#noteRefusal(object, refusal);
  }

  /** A Pipeline is gone. */
  forget(uid: string): void {
    this.#applied.delete(uid);
  }

  #noteRefusal(object: StoredObject, refusal: string): void {
    const note = `The Service for pushes could not be made: ${refusal}. Remove what stands in its way, or make one of your own.`;
    this.#options.notes.record(object, { type: 'Warning', reason: 'PushServiceRefused', action: 'Apply', note });
  }
}

const takesPushes = (sources: Iterable<LiveSourceSpec>): boolean =>
  [...sources].some(({ source }) => source.push !== undefined);
