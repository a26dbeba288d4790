// What makes updates of the whole Pipeline, and how its sources wait for them.
//   T9. An edit that changes results enters the known items whose fingerprint differs before the next cycle of any source lists: cycles
//       look at content, this update at fingerprints. Only the entering is waited for, never the processing.
//   T10. One such update enters at a time; edits that come meanwhile are joined into one more, which sees the newest spec.
//   T11. While runners of an earlier operator have not reported, nothing that lists begins, of the Pipeline or of its sources.
import type { UpdateEnding, UpdateObserver, UpdateView } from '../dispatch/index.ts';
import type { CycleWish } from './cycles.ts';
import type { UpdateDoor } from './ports.ts';
import type { SourceTriggers } from './source-triggers.ts';

/** Told about the updates of the Pipeline itself. */
export interface PipelineObserver {
  opened?(update: UpdateView): void;
  started?(update: UpdateView): void;
  progress?(update: UpdateView): void;
  ended?(update: UpdateView, ending: UpdateEnding): void;
}

export type PipelineWish = Pick<CycleWish, 'trigger' | 'reprocess' | 'releaseQuarantined'>;

export class PipelineTriggers {
  readonly #door: UpdateDoor;
  readonly #observer: PipelineObserver;
  readonly #sources = new Map<string, SourceTriggers>();
  readonly #open = new Set<string>();
  #entering: string | undefined;
  #pending: PipelineWish | undefined;
  #isHeld = false;

  constructor(options: { readonly door: UpdateDoor; readonly observer?: PipelineObserver }) {
    this.#door = options.door;
    this.#observer = options.observer ?? {};
  }

  /** A source joins; it waits for an update that still enters its work. */
  add(source: SourceTriggers): void {
    this.#sources.set(source.source, source);
    if (this.#entering !== undefined) source.cycles.shut('pipeline');
    if (this.#isHeld) source.cycles.shut('take-over');
  }

  remove(name: string): void {
    this.#sources.get(name)?.close();
    this.#sources.delete(name);
  }

  source(name: string): SourceTriggers | undefined {
    return this.#sources.get(name);
  }

  get sources(): Iterable<SourceTriggers> {
    return this.#sources.values();
  }

  get open(): ReadonlySet<string> {
    return this.#open;
  }

  want(wish: PipelineWish): void {
    this.#pending = this.#pending === undefined ? wish : joined(this.#pending, wish);
    this.#openNext();
  }

  /** An update that an earlier operator opened goes on; the answer is to follow it. */
  adopt(update: UpdateView): UpdateObserver {
    this.#open.add(update.name);
    if (!update.progress.listed && this.#entering === undefined) {
      this.#entering = update.name;
      for (const source of this.#sources.values()) source.cycles.shut('pipeline');
    }
    return this.#watch();
  }

  /** Keeps what lists from beginning (T11). */
  hold(): void {
    this.#isHeld = true;
    for (const source of this.#sources.values()) source.cycles.shut('take-over');
  }

  letGo(): void {
    this.#isHeld = false;
    this.#openNext();
    for (const source of this.#sources.values()) source.cycles.unshut('take-over');
  }

  close(): void {
    this.#pending = undefined;
    for (const source of this.#sources.values()) source.close();
    this.#sources.clear();
  }

  #openNext(): void {
    const wish = this.#pending;
    if (wish === undefined || this.#entering !== undefined || this.#isHeld) return;
    this.#pending = undefined;
    for (const source of this.#sources.values()) source.cycles.shut('pipeline');
    const update = this.#door.startUpdate({ kind: 'pipeline', ...wish, observer: this.#watch() });
    this.#entering = update.name;
    this.#open.add(update.name);
    this.#observer.opened?.(update);
  }

  #watch(): UpdateObserver {
    return {
      started: (update) => this.#observer.started?.(update),
      progress: (update) => {
        if (update.progress.listed) this.#entered(update);
        this.#observer.progress?.(update);
      },
      ended: (update, ending) => {
        this.#open.delete(update.name);
        this.#entered(update);
        this.#observer.ended?.(update, ending);
      },
    };
  }

  #entered(update: UpdateView): void {
    if (this.#entering !== update.name) return;
    this.#entering = undefined;
    this.#openNext();
    if (this.#entering !== undefined) return;
    for (const source of this.#sources.values()) source.cycles.unshut('pipeline');
  }
}

function joined(first: PipelineWish, second: PipelineWish): PipelineWish {
  return {
    trigger: first.trigger,
    ...(first.reprocess || second.reprocess ? { reprocess: true } : {}),
    ...(first.releaseQuarantined || second.releaseQuarantined ? { releaseQuarantined: true } : {}),
  };
}
