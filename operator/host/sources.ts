// The live sources of one Pipeline: the specs in force, what triggers and watches each, and what is remembered of its updates.
//   H8. A source begins nothing before the host is awake, and nothing opens again while its rows are being removed (H5).
import type { LiveSourceSpec } from '../../crds/schema/index.ts';
import type { Census } from '../../runner/protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { Dispatcher, UpdateEnding, UpdateView } from '../dispatch/index.ts';
import { type PipelineTriggers, SourceTriggers } from '../triggers/index.ts';
import { type Past, Records } from './records.ts';
import { limitsOf, triggerSettings } from './specs.ts';

export interface SourcePast extends Past {
  /** How long its first cycle may wait, since an earlier operator listed it not long ago. */
  readonly delayMs?: number;
}

export interface HostSourcesOptions {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  readonly triggers: PipelineTriggers;
  readonly isAwake: boolean;
  readonly past: (source: string) => SourcePast | undefined;
  readonly isDropping: (source: string) => boolean;
  /** What people see of a source changed; undefined: of the Pipeline. */
  readonly changed: (source: string | undefined) => void;
  readonly ended: (records: Records, source: string, update: UpdateView, ending: UpdateEnding) => void;
  readonly closed: (source: string) => void;
}

export interface HostedSource {
  spec: LiveSourceSpec;
  /** What the triggers were told last. */
  isPipelineSuspended: boolean;
  readonly records: Records;
  readonly triggers: SourceTriggers;
}

export class HostSources {
  readonly #options: HostSourcesOptions;
  readonly #sources = new Map<string, HostedSource>();
  #isAwake: boolean;
  /** What the state holds, as a runner counted it last. */
  #census: Census | undefined;

  constructor(options: HostSourcesOptions) {
    this.#options = options;
    this.#isAwake = options.isAwake;
  }

  get names(): Iterable<string> {
    return this.#sources.keys();
  }

  find(name: string): HostedSource | undefined {
    return this.#sources.get(name);
  }

  /** Makes them follow the specs (H4). */
  apply(specs: ReadonlyMap<string, LiveSourceSpec>, isPipelineSuspended: boolean): void {
    for (const name of [...this.#sources.keys()]) if (!specs.has(name)) this.close(name);
    for (const [name, spec] of specs) {
      const known = this.#sources.get(name);
      if (known !== undefined) this.#edit(name, known, spec, isPipelineSuspended);
      else if (!this.#options.isDropping(name)) this.#open(name, spec, isPipelineSuspended);
    }
  }

  wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    for (const [name, hosted] of this.#sources) this.#begin(name, hosted);
  }

  close(name: string): void {
    if (!this.#sources.delete(name)) return;
    const { triggers, dispatcher, closed } = this.#options;
    triggers.remove(name);
    dispatcher.closeSource(name, 'the LiveSource is being deleted');
    closed(name);
  }

  closeAll(): void {
    for (const name of [...this.#sources.keys()]) this.close(name);
  }

  /** Several runners count one state: the newest census holds. */
  counted(census: Census): void {
    if (this.#census !== undefined && census.atMs < this.#census.atMs) return;
    this.#census = census;
    const { changed } = this.#options;
    for (const [name, { records }] of this.#sources) if (records.counted(heldOf(census, name))) changed(name);
    changed(undefined);
  }

  get hasWatchers(): boolean {
    return [...this.#sources.values()].some(isWatched);
  }

  #open(name: string, spec: LiveSourceSpec, isPipelineSuspended: boolean): void {
    const { clock, dispatcher, changed, ended } = this.#options;
    const records = new Records();
    const triggers = new SourceTriggers({
      clock,
      door: dispatcher,
      source: name,
      settings: triggerSettings(spec, isPipelineSuspended),
      observer: {
        opened: (update) => records.opened(update),
        listed: () => changed(name),
        ended: (update, ending) => ended(records, name, update, ending),
      },
    });
    const hosted = { spec, isPipelineSuspended, records, triggers };
    const past = this.#options.past(name);
    if (past !== undefined) records.restore(past);
    if (this.#census !== undefined) records.counted(heldOf(this.#census, name));
    this.#sources.set(name, hosted);
    dispatcher.openSource({ name, onChanged: (changes) => triggers.changed(changes), ...settingsOf(spec) });
    this.#options.triggers.add(triggers);
    if (this.#isAwake) this.#begin(name, hosted, past?.delayMs);
  }

  #edit(name: string, known: HostedSource, spec: LiveSourceSpec, isPipelineSuspended: boolean): void {
    if (known.spec === spec && known.isPipelineSuspended === isPipelineSuspended) return;
    const before = known.spec;
    known.spec = spec;
    known.isPipelineSuspended = isPipelineSuspended;
    this.#options.dispatcher.editSource(name, settingsOf(spec));
    known.triggers.edit(triggerSettings(spec, isPipelineSuspended));
    this.#applyWatch(name, known);
    if (JSON.stringify(before.source) !== JSON.stringify(spec.source)) known.triggers.want({ trigger: 'edit' });
  }

  #begin(name: string, hosted: HostedSource, delayMs?: number): void {
    this.#applyWatch(name, hosted);
    hosted.triggers.start(delayMs);
  }

  #applyWatch(name: string, hosted: HostedSource): void {
    if (!this.#isAwake) return;
    if (isWatched(hosted)) this.#options.dispatcher.watchSource(name);
    else this.#options.dispatcher.unwatchSource(name);
  }
}

const heldOf = ({ sources }: Census, name: string) => sources.find(({ source }) => source === name);

const isWatched = ({ spec, isPipelineSuspended }: HostedSource): boolean =>
  spec.mode === 'Watch' && !spec.suspend && !isPipelineSuspended;

function settingsOf({ weight, limits }: LiveSourceSpec) {
  const bounds = limitsOf(limits);
  return { weight, ...(bounds !== undefined && { limits: bounds }) };
}
