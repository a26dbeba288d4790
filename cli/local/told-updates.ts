// What people are told of a Pipeline's updates: the items that fail in them as they fail, and how each one ended. Fed by the dispatcher's events.
import type { DispatchEvents, RunView, UpdateEnding, UpdateView } from '../../operator/dispatch/index.ts';
import type { Assembly } from '../../runner/assemble/index.ts';
import type { Clock } from '../../runner/clock.ts';
import { pathKeys, type RunOutcome } from '../../runner/protocol/index.ts';
import { ROOT_KINDS } from './activity.ts';
import type { EndedUpdate, FailedItem, Reporter } from './report.ts';

/** Failed items that are printed for one update; the rest is counted. */
const FAILED_SHOWN_MAX = 20;

export interface ToldOptions {
  readonly label: string;
  readonly clock: Clock;
  readonly reporter: Reporter;
  readonly sources: Assembly['sources'];
  /** Tells facts of a source of which an update has ended. */
  readonly tellFacts: (source: string) => void;
}

/** What was printed of one update's failures. */
interface Told {
  readonly lines: Set<string>;
  hiddenItems: number;
}

interface Followed {
  readonly failed: (item: FailedItem) => void;
  readonly ended: (update: EndedUpdate) => void;
}

export class ToldUpdates implements DispatchEvents {
  readonly #options: ToldOptions;
  readonly #told = new Map<string, Told>();
  readonly #followed = new Map<string, Followed>();

  constructor(options: ToldOptions) {
    this.#options = options;
  }

  /** The end of an update that was opened a moment ago; `failed` hears, beside the reporter, of the items that fail in it. */
  follow(name: string, failed: (item: FailedItem) => void): Promise<EndedUpdate> {
    return new Promise((ended) => this.#followed.set(name, { failed, ended }));
  }

  ended({ kind, path, update }: RunView, outcome: RunOutcome): void {
    if (outcome.kind !== 'failed' || ROOT_KINDS.has(kind)) return;
    const [source = '', key = '', ...below] = pathKeys(path);
    const { step, message } = outcome.error;
    const item = { source, key, message: step === undefined ? message : `${step}: ${message}` };
    if (!this.#isNews(update.name, item, below.length === 0)) return;
    this.#options.reporter.failed(item);
    this.#followed.get(update.name)?.failed(item);
  }

  /** Whether it is to be printed. An item that fails because a component of its own did fails with that one's words, which are said once. */
  #isNews(update: string, item: FailedItem, isWhole: boolean): boolean {
    const told = this.#told.get(update) ?? { lines: new Set(), hiddenItems: 0 };
    this.#told.set(update, told);
    const line = JSON.stringify(item);
    if (told.lines.has(line)) return false;
    if (told.lines.size === FAILED_SHOWN_MAX) {
      if (isWhole) told.hiddenItems += 1;
      return false;
    }
    told.lines.add(line);
    return true;
  }

  updateEnded(update: UpdateView, ending: UpdateEnding): void {
    const { reporter, tellFacts } = this.#options;
    const ended = this.#endedOf(update, ending);
    reporter.ended(ended);
    const hidden = this.#told.get(update.name)?.hiddenItems ?? 0;
    if (hidden > 0) reporter.note(`${hidden} more items failed; fairlead quarantine lists them`);
    this.#told.delete(update.name);
    if (update.start.source !== undefined) tellFacts(update.start.source);
    this.#followed.get(update.name)?.ended(ended);
    this.#followed.delete(update.name);
  }

  #endedOf(update: UpdateView, { result, counts, outcome }: UpdateEnding): EndedUpdate {
    const { label, clock, sources } = this.#options;
    const { name, kind, trigger, requestedAtMs, start } = update;
    const message = messageOf(outcome);
    const revision = sources.get(start.source ?? '')?.source.revision?.();
    return {
      name,
      pipeline: label,
      kind,
      ...(start.source !== undefined && { source: start.source }),
      ...(start.key !== undefined && { key: start.key }),
      trigger,
      result,
      counts,
      durationMs: clock.nowMs() - requestedAtMs,
      ...(message !== undefined && { message }),
      ...(revision !== undefined && { revision }),
    };
  }
}

function messageOf(outcome: UpdateEnding['outcome']): string | undefined {
  if (outcome.kind === 'failed') return outcome.error.message;
  if (outcome.kind === 'cancelled') return outcome.why;
  if (outcome.kind !== 'done' || outcome.heldDeletes === undefined) return undefined;
  const { missing, known } = outcome.heldDeletes;
  return `nothing was deleted: ${missing} of ${known} items are not in the source any more, more than deleteGuard allows. If that is right: --allow-deletes`;
}
