// A door that opens updates and lets the test play their runs.
import type { UpdateStart, UpdateView } from '../../operator/dispatch/index.ts';
import type { UpdateDoor } from '../../operator/triggers/index.ts';
import { NO_COUNTS, type RunOutcome, updateResult } from '../../runner/protocol/index.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class FakeDoor implements UpdateDoor {
  /** Everything that was opened, in order. */
  readonly started: UpdateStart[] = [];
  readonly #views: Mutable<UpdateView>[] = [];

  startUpdate(start: UpdateStart): UpdateView {
    const number = this.started.push(start);
    const view: Mutable<UpdateView> = {
      name: `${start.source ?? 'pipeline'}-${number}`,
      start,
      kind: start.kind,
      trigger: start.trigger,
      path: start.source ?? '',
      rootRun: number,
      causes: [],
      requestedAtMs: 0,
      progress: { listed: false, total: 0, done: 0, counts: NO_COUNTS },
    };
    this.#views.push(view);
    return view;
  }

  cancelUpdate(name: string): void {
    const at = this.#views.findIndex((view) => view.name === name);
    this.end(at, { kind: 'cancelled', why: 'asked to' });
  }

  begin(at: number): void {
    this.#views[at]!.startedAtMs = 1;
    this.started[at]!.observer?.started?.(this.#views[at]!);
  }

  endListing(at: number): void {
    this.#views[at]!.progress = { listed: true, total: 5, done: 0, counts: NO_COUNTS };
    this.started[at]!.observer?.progress?.(this.#views[at]!);
  }

  end(at: number, outcome: RunOutcome = { kind: 'done', counts: NO_COUNTS }): void {
    const view = this.#views[at]!;
    const counts = 'counts' in outcome ? outcome.counts : NO_COUNTS;
    view.ending = { result: updateResult(outcome), counts, outcome };
    this.started[at]!.observer?.ended?.(view, view.ending);
  }
}
