// One listing of a source: streamed, compared with the state batch by batch, and what must be done entered into the work list.
//
//   L1. Memory does not grow with the source: a batch and one bit an item (F8).
//   L2. What the first batch brought is being processed while the listing goes on.
//   L3. A listing that did not end cleanly deletes nothing (F1).
//   L4. Listings of one source take turns; processing never waits for a listing.
import type { HeldDeletes } from '../protocol/index.ts';
import { Bitmap } from './bitmap.ts';
import { heldDeletes, missingKeys, type WholeListing } from './missing.ts';
import { itemComponent } from './plan.ts';
import type { Comparison, Extent, ListedItem, NewWork, SourcePlan, Verdict } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import type { Tally } from './tally.ts';
import { timed } from './timed.ts';
import type { RunTimes } from './times.ts';
import type { Worker } from './worker.ts';

/** What the state says of an item whose adopted work ended just now: it was counted then. */
const COUNTED_ALREADY: ReadonlySet<Verdict> = new Set<Verdict>(['unchanged', 'failed', 'quarantined']);

export class Listing {
  readonly #run: Run;
  readonly #services: Services;
  readonly #plan: SourcePlan;
  readonly #source: string;
  readonly #tally: Tally;
  readonly #worker: Worker;
  readonly #seen = new Bitmap();
  #seenKnown = 0;
  #listed = 0;

  constructor(run: Run, services: Services, plan: SourcePlan, tally: Tally, worker: Worker) {
    this.#run = run;
    this.#services = services;
    this.#plan = plan;
    this.#source = run.order.source ?? '';
    this.#tally = tally;
    this.#worker = worker;
  }

  /** Answers the deletes that wait for consent; the guard counts those before it too. Throws what the source threw. */
  async list(deletedBefore: number): Promise<HeldDeletes | undefined> {
    const { times } = this.#run;
    const end = await this.#services.listings.take(this.#source, this.#run.cancellation);
    try {
      return await timed(times, 'list', this.#source, () => this.#list(deletedBefore));
    } finally {
      end();
      if (times !== undefined) this.#describe(times);
    }
  }

  #describe(times: RunTimes): void {
    const revision = this.#plan.source.revision?.();
    times.describe('list', { count: this.#listed, ...(revision === undefined ? {} : { detail: revision }) });
  }

  async #list(deletedBefore: number): Promise<HeldDeletes | undefined> {
    const { state } = this.#services;
    const { cancellation } = this.#run;
    const beganAtMs = await cancellation.race(state.nowMs());
    const before = await cancellation.race(state.extent(this.#source));
    await this.#compareAll(before);
    const [source, seen, seenKnown] = [this.#source, this.#seen, this.#seenKnown];
    const listing = { source, seen, seenKnown, before, beganAtMs, deletedBefore };
    const held = this.#run.order.allowDeletes === true ? undefined : await this.#held(listing);
    if (held === undefined) await this.#enterDeletes(listing);
    this.#tally.listingEnded();
    return held;
  }

  async #compareAll(before: Extent): Promise<void> {
    const { cancellation } = this.#run;
    const batches = this.#plan.source.list({ signal: cancellation.signal })[Symbol.asyncIterator]();
    try {
      // The source lists the next batch while this one is compared.
      for (let next = ahead(batches); ; ) {
        const batch = await cancellation.race(next);
        if (batch.done === true) return;
        next = ahead(batches);
        await this.#compare(batch.value, before);
      }
    } catch (error) {
      // The source's generator may still be waiting for the far side: it is told to end, and not waited for.
      void batches.return?.().catch(() => {});
      throw error;
    }
  }

  async #compare(batch: readonly ListedItem[], before: Extent): Promise<void> {
    if (batch.length === 0) return;
    this.#listed += batch.length;
    const { state, plan } = this.#services;
    const { cancellation } = this.#run;
    const { fingerprint } = itemComponent(plan);
    const seenAtMs = await cancellation.race(state.nowMs());
    const found = await cancellation.race(state.compare(this.#source, batch, fingerprint));
    const wanted: NewWork[] = [];
    let unchanged = 0;
    let quarantined = 0;
    for (let at = 0; at < batch.length; at += 1) {
      const { id, verdict } = found[at] as Comparison;
      if (id > 0 && this.#seen.add(id) && id <= before.lastId) this.#seenKnown += 1;
      const item = batch[at] as ListedItem;
      if (this.#worker.wasEarly(item.key) && COUNTED_ALREADY.has(verdict)) continue;
      if (verdict === 'unchanged' && !this.#run.reprocess) unchanged += 1;
      else if (verdict === 'quarantined') quarantined += 1;
      else wanted.push(this.#work('process', item, seenAtMs, verdict === 'new'));
    }
    if (unchanged > 0) this.#tally.count('unchanged', unchanged);
    if (quarantined > 0) this.#tally.count('failed', quarantined);
    await this.#worker.enter(wanted);
  }

  #work(action: NewWork['action'], item: ListedItem, seenAtMs: number, fresh = false): NewWork {
    const work: { -readonly [K in keyof NewWork]: NewWork[K] } = {
      source: this.#source,
      key: item.key,
      action,
      version: item.version,
      update: this.#run.order.update,
      seenAtMs,
    };
    if (item.sizeBytes !== undefined) work.sizeBytes = item.sizeBytes;
    if (this.#run.reprocess) work.reprocess = true;
    if (fresh) work.fresh = true;
    return work;
  }

  #held(listing: WholeListing): Promise<HeldDeletes | undefined> {
    return this.#run.cancellation.race(heldDeletes(this.#services.state, listing, this.#plan.deleteGuard));
  }

  async #enterDeletes(listing: WholeListing): Promise<void> {
    for await (const keys of missingKeys(this.#services.state, listing)) {
      this.#run.cancellation.throwIfCancelled();
      await this.#worker.enter(keys.map((key) => this.#work('delete', { key, version: '' }, listing.beganAtMs)));
    }
  }
}

/** Asks for the next batch; should nobody come to wait for it, its failure is no surprise to anyone. */
function ahead(batches: AsyncIterator<readonly ListedItem[]>): Promise<IteratorResult<readonly ListedItem[]>> {
  const next = batches.next();
  next.catch(() => {});
  return next;
}
