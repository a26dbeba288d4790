// The run of one item: look, read, compare, execute the steps, commit.
//
//   I1. The work list says what is wanted: a run that finds its entry taken over by a newer update executes nothing.
//   I2. Equal content under an equal fingerprint is unchanged: only the version token is recorded.
//   I3. An item that turns out to be gone is removed by a per-key update, of which there are few (T9). In a cycle or an update of the whole Pipeline
//       it keeps its rows until a listing misses it: a source that is not there for a while would else lose everything, past the delete guard.
//   I4. A failed item keeps its old rows; what was computed is kept for the next try.
//   I5. An item that took down LOSSES_MAX runners is quarantined without being executed.
import { type Counts, NO_COUNTS, type RunError, type RunOutcome } from '../protocol/index.ts';
import { Attempts, Parked } from './attempts.ts';
import { Cancelled } from './cancellation.ts';
import { Content, sourceOf } from './content.ts';
import { RunFailure, toRunError } from './failure.ts';
import { canonicalJson, contentHashOf } from './hash.ts';
import { RunMemo } from './memo.ts';
import { Nested } from './nested.ts';
import { type CompiledComponent, itemComponent } from './plan.ts';
import type { ComponentRef, ItemContent, ListedItem, Opened, WorkEntry } from './ports.ts';
import { removeComponent } from './remove.ts';
import { type Finished, replaceCommit } from './replace.ts';
import { DEFAULT_RETRY } from './retry.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { type BuildCommit, settle } from './settle.ts';
import { runSteps } from './steps.ts';
import { tellTookOver } from './worker.ts';
import type { Exports, Workplace } from './workplace.ts';

const LOSSES_MAX = 3;

interface Produced {
  readonly exports: Exports;
  /** Components below; absent where there are none. */
  readonly nested: Nested | undefined;
}

const NOTHING_PRODUCED: Produced = { exports: new Map(), nested: undefined };

const one = (count: keyof Counts): Counts => ({ ...NO_COUNTS, [count]: 1 });

const DONE_FIRST: RunOutcome = { kind: 'done', counts: one('added') };
const DONE_AGAIN: RunOutcome = { kind: 'done', counts: one('reprocessed') };
const DONE_UNCHANGED: RunOutcome = { kind: 'done', counts: one('unchanged') };

/** Which entry of the work list the run does: a later one of the key stays. */
const entryOf = ({ settles, settlesSeq }: Wanted): Pick<Wanted, 'settles' | 'settlesSeq'> =>
  settlesSeq === undefined ? { settles } : { settles, settlesSeq };

type Draft = { -readonly [K in keyof Finished]: Finished[K] };

/** Stands for the content of an item that no step reads. */
const versionHash = (version: string): string => `version ${version}`;

/** What of an item's content decides its result: a changed title with an equal body is changed content. */
function hashOf({ bytes, fields }: ItemContent): string {
  const body = contentHashOf(bytes);
  return fields === undefined ? body : contentHashOf(`${body}\n${canonicalJson(fields)}`);
}

/** What one item's run knows as it goes on. */
interface Wanted {
  readonly opened: Opened;
  /** Version that is to be processed; empty: whatever is there. */
  readonly version: string;
  readonly isGone: boolean;
  /** Update whose entry the commit takes off. */
  readonly settles: string;
  /** Number of that entry, where it is known. */
  readonly settlesSeq?: number;
  readonly losses: number;
}

interface Reading {
  readonly version: string;
  readonly contentHash: string;
}

export class ItemRun {
  readonly #run: Run;
  readonly #services: Services;
  readonly #attempts: Attempts;
  readonly #ref: ComponentRef;
  readonly #source: string;
  readonly #key: string;
  readonly #seenAtMs: number | undefined;
  #wanted: Wanted | undefined;
  #memo: RunMemo | undefined;

  /** `seenAtMs`: when the change was seen that the update is about, where a watcher or a push saw it. */
  constructor(run: Run, services: Services, seenAtMs?: number) {
    this.#run = run;
    this.#services = services;
    this.#seenAtMs = seenAtMs;
    this.#source = run.order.source ?? '';
    this.#key = run.order.key ?? '';
    this.#ref = { path: run.order.path, item: { source: this.#source, key: this.#key } };
    this.#attempts = new Attempts(run, services);
  }

  async execute(): Promise<RunOutcome> {
    try {
      const opened = this.#fresh() ?? (await this.#open());
      const wanted = this.#run.isRoot ? await this.#look(opened) : this.#fromWorkList(opened);
      if ('kind' in wanted) return wanted;
      this.#wanted = wanted;
      if (wanted.losses >= LOSSES_MAX) return await this.#quarantine(wanted);
      return await this.#services.caution.during(this.#run, wanted.opened.work, () =>
        wanted.isGone ? this.#remove(wanted) : this.#process(wanted),
      );
    } catch (thrown) {
      return this.#endBy(thrown);
    }
  }

  #fresh(): Opened | undefined {
    const { path, update, token } = this.#run.order;
    const work = this.#services.fresh.get(path);
    if (work === undefined || work.update !== update) return undefined;
    this.#services.fresh.delete(path);
    return token.attempt === 1 ? { work } : undefined;
  }

  #open(): Promise<Opened> {
    return this.#run.cancellation.race(this.#services.opener.ask(this.#ref));
  }

  /** A mounted run: the work list decides (I1). */
  #fromWorkList(opened: Opened): Wanted | RunOutcome {
    const { order } = this.#run;
    const { work } = opened;
    if (work === undefined) return this.#settledBefore(opened);
    if (work.update !== order.update) return { kind: 'superseded' };
    return this.#wantedOf(opened, work, work.action === 'delete', work.version);
  }

  /** No entry any more: an attempt of this run that was lost had committed, or another update did the work. */
  #settledBefore({ component }: Opened): RunOutcome {
    const isOurs = component?.token.run === this.#run.number && this.#run.order.token.attempt > 1;
    return isOurs ? { kind: 'done', counts: one('reprocessed') } : { kind: 'superseded' };
  }

  /** The root run of a per-key update: looks at the source and takes the key's work over from whoever has it. */
  async #look(opened: Opened): Promise<Wanted> {
    const seenAtMs = await this.#services.state.nowMs();
    const listed = await this.#stat();
    const { order, number } = this.#run;
    const action = listed === undefined ? 'delete' : 'process';
    const offer = {
      source: this.#source,
      key: this.#key,
      action,
      version: '',
      update: order.update,
      seenAtMs,
    } as const;
    const [entered] = await this.#services.state.enter([
      { ...offer, ...(this.#run.reprocess ? { reprocess: true } : {}) },
    ]);
    if (entered?.kind === 'tookOver' && entered.from !== order.update) {
      tellTookOver(this.#services, number, entered.from, [order.path]);
    }
    const now = entered?.kind === 'entered' ? opened : await this.#open();
    return this.#wantedOf(now, now.work, listed === undefined, listed?.version ?? '');
  }

  #stat(): Promise<ListedItem | undefined> {
    const { cancellation } = this.#run;
    const source = sourceOf(this.#services, this.#source);
    return this.#attempts.try('look', 'read', DEFAULT_RETRY, () =>
      cancellation.race(source.stat(this.#key, cancellation.signal, this.#seenAtMs)),
    );
  }

  #wantedOf(opened: Opened, work: WorkEntry | undefined, isGone: boolean, version: string): Wanted {
    const { order } = this.#run;
    if (work?.reprocess === true) this.#run.reprocess = true;
    const losses = (order.losses ?? 0) + (work?.losses ?? 0);
    if (work === undefined) return { opened, version, isGone, settles: order.update, losses };
    return { opened, version, isGone, settles: work.update, settlesSeq: work.seq, losses };
  }

  #process(wanted: Wanted): Promise<RunOutcome> {
    const component = itemComponent(this.#services.plan);
    const isBare = component.steps.length === 0 && this.#services.plan.maxContentBytes === undefined;
    if (!isBare || this.#mayHaveChildren(wanted)) return this.#work(component, wanted);
    // Nothing is read and nothing is made: no place to work at, and no turn to wait for.
    const { version } = wanted;
    const contentHash = versionHash(version);
    if (this.#isUnchanged(wanted, contentHash)) return this.#touch(wanted, version);
    return this.#replace(wanted, { version, contentHash }, NOTHING_PRODUCED, new RunMemo(this.#services.memo, false));
  }

  async #work(component: CompiledComponent, wanted: Wanted): Promise<RunOutcome> {
    const place = this.#workplace(wanted);
    const read = await this.#read(place);
    if (read === undefined) return await (this.#run.isRoot ? this.#remove(wanted) : this.#leave(wanted));
    if (this.#isUnchanged(wanted, read.contentHash)) return this.#touch(wanted, read.version);
    const produced = await this.#produce(component, place, wanted);
    const outcome = await this.#replace(wanted, read, produced, place.memo);
    return produced.nested === undefined ? outcome : produced.nested.committed(outcome);
  }

  #replace(wanted: Wanted, read: Reading, produced: Produced, memo: RunMemo): Promise<RunOutcome> {
    const { path } = this.#ref;
    const finished: Draft = {
      owner: { path, source: this.#source, key: this.#key },
      item: { source: this.#source, key: this.#key, version: read.version },
      ...entryOf(wanted),
      // A failure below was handled by user code: the item is `stale` for the next cycle.
      fingerprint: produced.nested?.isTainted === true ? '' : itemComponent(this.#services.plan).fingerprint,
      contentHash: read.contentHash,
      exports: produced.exports,
      memo,
      reprocess: this.#run.reprocess,
    };
    const isFirst = (wanted.opened.component?.contentHash ?? '') === '';
    return this.#settle(wanted, isFirst ? DONE_FIRST : DONE_AGAIN, ({ component: record }, token) =>
      replaceCommit(this.#services.plan, finished, record, token),
    );
  }

  /** Executes the steps and waits for what they mounted. */
  async #produce(component: CompiledComponent, place: Workplace, wanted: Wanted): Promise<Produced> {
    const isParent = component.mounts || this.#mayHaveChildren(wanted);
    const nested = isParent ? new Nested(this.#run, this.#services, this.#ref) : undefined;
    const exports = await runSteps(component, [{}], place, nested);
    await nested?.finish();
    return { exports, nested };
  }

  #workplace({ version }: Wanted): Workplace {
    const item = { source: this.#source, key: this.#key, version };
    const content = new Content(this.#run, sourceOf(this.#services, this.#source), this.#attempts, item);
    const memo = new RunMemo(this.#services.memo, this.#run.reprocess);
    this.#memo = memo;
    return { run: this.#run, services: this.#services, attempts: this.#attempts, item, content, memo };
  }

  /** What the item is now; without a step that reads, its version stands for its content. Undefined: gone. */
  async #read(place: Workplace): Promise<Reading | undefined> {
    const { maxContentBytes } = this.#services.plan;
    const { version } = place.item;
    if (maxContentBytes === undefined) return { version, contentHash: versionHash(version) };
    return this.#readContent(place, maxContentBytes);
  }

  async #readContent(place: Workplace, maxContentBytes: number): Promise<Reading | undefined> {
    try {
      const content = await place.content.read(maxContentBytes);
      return content && { version: content.version, contentHash: hashOf(content) };
    } catch (thrown) {
      // What becomes of an item that is too large is for the step that reads it to say.
      if (!(thrown instanceof RunFailure) || thrown.error.class !== 'too-large') throw thrown;
      const { version } = place.item;
      return { version, contentHash: contentHashOf(`too large ${version}`) };
    }
  }

  #isUnchanged({ opened: { component } }: Wanted, contentHash: string): boolean {
    return (
      !this.#run.reprocess &&
      component !== undefined &&
      component.contentHash === contentHash &&
      component.fingerprint === itemComponent(this.#services.plan).fingerprint &&
      component.intended.size === 0
    );
  }

  /** Components of an earlier plan may stand below the item although today's plan mounts none. */
  #mayHaveChildren({ opened }: Wanted): boolean {
    const { fingerprint } = itemComponent(this.#services.plan);
    return opened.item !== undefined && opened.component?.fingerprint !== fingerprint;
  }

  #touch(wanted: Wanted, version: string): Promise<RunOutcome> {
    const item = { source: this.#source, key: this.#key, version };
    return this.#settle(wanted, DONE_UNCHANGED, ({ component }, token) => ({
      commit: {
        kind: 'touch',
        path: this.#ref.path,
        token,
        item,
        ...entryOf(wanted),
        ...(component === undefined ? {} : { base: component.token }),
      },
      outside: [],
    }));
  }

  #remove(wanted: Wanted): Promise<RunOutcome> {
    return removeComponent(this.#run, this.#services, this.#attempts, {
      ref: this.#ref,
      opened: wanted.opened,
      ...entryOf(wanted),
      isDrop: false,
    });
  }

  /** I3. */
  async #leave(wanted: Wanted): Promise<RunOutcome> {
    if (wanted.opened.item === undefined) return this.#remove(wanted);
    const { settles, settlesSeq: seq } = wanted;
    const entry = { source: this.#source, key: this.#key, ...(seq !== undefined && { seq }) };
    await this.#services.state.dropWork(settles, [entry]);
    return DONE_UNCHANGED;
  }

  #settle(wanted: Wanted, committed: RunOutcome, build: BuildCommit): Promise<RunOutcome> {
    return settle(this.#run, this.#services, this.#attempts, this.#ref, wanted.opened, build, committed);
  }

  async #quarantine(wanted: Wanted): Promise<RunOutcome> {
    const message = `${this.#key} took down ${wanted.losses} runners and is left alone until it changes or is released; look at the last lines of those runners, and give them more memory or exclude the item`;
    return this.#record(wanted, { class: 'quarantined', message }, 'quarantined');
  }

  async #endBy(thrown: unknown): Promise<RunOutcome> {
    if (thrown instanceof Cancelled) {
      void this.#services.keep(this.#memo?.partial() ?? []);
      return { kind: 'cancelled', why: thrown.why };
    }
    await this.#services.keep(this.#memo?.partial() ?? []);
    if (thrown instanceof Parked) {
      const { resumeAfterMs, error, resume } = thrown;
      return { kind: 'parked', resumeAfterMs, error, resume };
    }
    const error = toRunError(thrown);
    if (this.#wanted === undefined) return { kind: 'failed', counts: one('failed'), error };
    return this.#record(this.#wanted, error, 'failed');
  }

  /** Records the failure (I4). Where even that fails the entry stays in the work list, and the next cycle adopts it. */
  async #record(wanted: Wanted, error: RunError, status: 'failed' | 'quarantined'): Promise<RunOutcome> {
    const version = wanted.version === '' ? (wanted.opened.item?.version ?? '') : wanted.version;
    const commit = {
      kind: 'fail',
      path: this.#ref.path,
      token: this.#run.token,
      item: { source: this.#source, key: this.#key, version },
      ...entryOf(wanted),
      status,
      error: this.#services.hide(error.step === undefined ? error.message : `${error.step}: ${error.message}`),
      losses: wanted.losses,
    } as const;
    try {
      const result = await this.#services.committer.commit({ commit, outside: [] });
      if (result.kind === 'fenced' && result.by === 'token') return { kind: 'superseded' };
    } catch (unrecorded) {
      const { message } = toRunError(unrecorded);
      return {
        kind: 'failed',
        counts: one('failed'),
        error: { ...error, message: `${error.message} (not recorded: ${message})` },
      };
    }
    return { kind: 'failed', counts: one('failed'), error };
  }
}
