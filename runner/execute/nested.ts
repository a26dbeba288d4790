// Components of a `forEach`: one for each element, mounted by the run of their parent.
//
//   N1. A component is named by the text of its element and its occurrence, or by a field of it: an element that moved is the same component.
//   N2. An element that the state knows under the same fingerprint costs a comparison: no run.
//   N3. Mounting follows the slots: the parent holds a bounded number of waiting children, and no more rows and bytes in flight than its limits
//       say; an element heavier than a limit runs alone.
//   N4. Before it mounts or deletes its first child a run records that its component is about to change: whatever becomes of the run, the next
//       listing finds the component again, and with it children that were left over or went too early.
//   N5. Components that were there before and were not mounted this time are deleted by delete runs, before the parent commits.
import { childPath, type Json, type RunError, type RunOutcome } from '../protocol/index.ts';
import type { Element } from '../sdk/index.ts';
import { encodeElement } from './codec.ts';
import { RunFailure } from './failure.ts';
import { canonicalJson, contentHashOf, shortHash } from './hash.ts';
import type { ElementInput } from './job.ts';
import { recordLive, startLive } from './live.ts';
import type { Wanted as LiveWanted } from './module-request.ts';
import { INPUT_MAX_BYTES } from './mounts.ts';
import type { CompiledComponent, CompiledStep } from './plan.ts';
import type { ComponentRecord, ComponentRef } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

const COMPARE_MAX = 500;
const CHILDREN_PAGE = 500;
type NestedStep = Extract<CompiledStep, { readonly component: number }>;

/** What identifies an element's content, for N2. */
export function elementHash(element: Json): string {
  return contentHashOf(canonicalJson(element as Parameters<typeof canonicalJson>[0]));
}

interface Wanted {
  readonly path: string;
  readonly input: ElementInput;
  readonly hash: string;
  readonly sizeBytes: number;
}

/** Children of one run, over all its `forEach` steps. */
export class Nested {
  readonly #run: Run;
  readonly #services: Services;
  readonly #ref: ComponentRef;
  readonly #paths = new Set<string>();
  #inFlight = { rows: 0, bytes: 0 };
  #failure: RunError | undefined;
  readonly #checks: (() => RunError | undefined)[] = [];
  /** A failure below was handled by user code: the component is to run again with the next cycle, whatever its content. */
  isTainted = false;
  /** Entries of views that failed and stopped nothing. */
  #failedEntries = 0;
  readonly #live: LiveWanted[] = [];

  constructor(run: Run, services: Services, ref: ComponentRef) {
    this.#run = run;
    this.#services = services;
    this.#ref = ref;
  }

  async mountElements(step: NestedStep, elements: readonly Element[]): Promise<void> {
    await markChanging(this.#run, this.#services, this.#ref);
    const component = this.#services.plan.components[step.component] as CompiledComponent;
    const wanted = this.#name(step, elements);
    for (let at = 0; at < wanted.length; at += COMPARE_MAX) {
      const page = wanted.slice(at, at + COMPARE_MAX);
      const records = await this.#run.cancellation.race(
        this.#services.state.components(page.map((child) => child.path)),
      );
      for (const [index, child] of page.entries()) {
        if (!this.#isUnchanged(component, child, records[index])) await this.#mount(step, component, child);
      }
    }
  }

  /** Until all children ended, those that were not mounted this time are gone, and what lives on is recorded. Throws the first failure. */
  async finish(keepsChildren = false): Promise<void> {
    await this.#run.drained();
    for (const check of this.#checks) this.#failure ??= check();
    if (this.#failure !== undefined) throw new RunFailure(this.#failure);
    if (!keepsChildren) await this.#deleteOthers();
    for (const wanted of this.#live) await recordLive(this.#run, this.#services, wanted);
  }

  /** A component that was mounted, and whose first run ended well, goes on after this run. */
  liveOn(wanted: LiveWanted, failedEntries: number): void {
    this.#live.push(wanted);
    this.#failedEntries += failedEntries;
  }

  /** The run ended: if it is committed, what lives on begins to, and entries that failed count. */
  committed(outcome: RunOutcome): RunOutcome {
    if (outcome.kind !== 'done') return outcome;
    for (const wanted of this.#live) startLive(this.#run, this.#services, wanted);
    if (this.#failedEntries === 0) return outcome;
    return { ...outcome, counts: { ...outcome.counts, failed: outcome.counts.failed + this.#failedEntries } };
  }

  /** Takes a path for a child; false: it is taken. */
  claim(path: string): boolean {
    if (this.#paths.has(path)) return false;
    this.#paths.add(path);
    return true;
  }

  /** Gives a path back: the child is to be mounted again, or to be deleted. */
  disclaim(path: string): void {
    this.#paths.delete(path);
  }

  /** Records that the component is about to change below (N4). */
  markChanging(): Promise<void> {
    return markChanging(this.#run, this.#services, this.#ref);
  }

  /** `check` says, once all children ended, what of them fails the run. */
  checkAtEnd(check: () => RunError | undefined): void {
    this.#checks.push(check);
  }

  /** Deletes components directly below that were not mounted (N5). */
  async #deleteOthers(): Promise<void> {
    await deleteChildren(this.#run, this.#services, this.#ref, (child) => !this.#paths.has(child));
  }

  #name(step: NestedStep, elements: readonly Element[]): Wanted[] {
    const occurrences = new Map<string, number>();
    return elements.map((element) => {
      const path = childPath(this.#run.order.path, keyOf(step, element, occurrences));
      if (this.#paths.has(path)) {
        throw new RunFailure({
          class: 'invalid',
          message: `two elements of "forEach" have the same ${step.key ?? 'name'}; choose a key that is different for each`,
          step: 'forEach',
        });
      }
      this.#paths.add(path);
      return wantedOf(step, path, element);
    });
  }

  #isUnchanged(component: CompiledComponent, child: Wanted, record: ComponentRecord | undefined): boolean {
    return (
      !this.#run.reprocess &&
      record !== undefined &&
      record.contentHash === child.hash &&
      record.fingerprint === component.fingerprint &&
      record.intended.size === 0
    );
  }

  async #mount(step: NestedStep, component: CompiledComponent, child: Wanted): Promise<void> {
    const { mounts, order, cancellation, reprocess } = this.#run;
    while (!mounts.hasRoom || !this.#fits(step, child)) await cancellation.race(mounts.change());
    this.#weigh(child, 1);
    const request = {
      path: child.path,
      kind: 'element' as const,
      version: `${child.hash} ${component.fingerprint}${reprocess ? ` ${order.update}` : ''}`,
      input: child.input,
      rows: 1,
      bytes: child.sizeBytes,
      ...(order.source === undefined ? {} : { source: order.source }),
      ...(order.key === undefined ? {} : { key: order.key }),
      ...(component.runnerClass === undefined ? {} : { runnerClass: component.runnerClass }),
      ...(component.milliCards === undefined ? {} : { milliCards: component.milliCards }),
      ...(reprocess ? { reprocess: true } : {}),
    };
    mounts.mount(request, (outcome) => {
      this.#weigh(child, -1);
      this.#note(outcome);
    });
  }

  #fits({ maxInflightRows, maxInflightBytes }: NestedStep, child: Wanted): boolean {
    const { rows, bytes } = this.#inFlight;
    if (rows === 0) return true;
    if (maxInflightRows !== undefined && rows + 1 > maxInflightRows) return false;
    return maxInflightBytes === undefined || bytes + child.sizeBytes <= maxInflightBytes;
  }

  #weigh(child: Wanted, sign: 1 | -1): void {
    this.#inFlight = { rows: this.#inFlight.rows + sign, bytes: this.#inFlight.bytes + sign * child.sizeBytes };
  }

  #note(outcome: RunOutcome): void {
    this.#failure ??= failureOf(outcome, 'forEach');
  }
}

function keyOf(step: NestedStep, element: Element, occurrences: Map<string, number>): string {
  if (step.key !== undefined) {
    const value = element.fields?.[step.key];
    if (typeof value === 'string' || typeof value === 'number') return String(value);
    throw new RunFailure({
      class: 'invalid',
      message: `"forEach" names its components by the field "${step.key}", which an element lacks`,
      step: 'forEach',
    });
  }
  const base = shortHash(element.text ?? canonicalJson(element.fields ?? {}));
  const occurrence = occurrences.get(base) ?? 0;
  occurrences.set(base, occurrence + 1);
  return occurrence === 0 ? base : `${base}.${occurrence}`;
}

function wantedOf(step: NestedStep, path: string, element: Element): Wanted {
  const encoded = encodeElement(element);
  const input: ElementInput = { component: step.component, element: encoded };
  const sizeBytes = Buffer.byteLength(JSON.stringify(input));
  if (sizeBytes > INPUT_MAX_BYTES) {
    throw new RunFailure({
      class: 'invalid',
      message: `an element of "forEach" takes ${sizeBytes} bytes, at most ${INPUT_MAX_BYTES} can be passed; split it first, or pass a reference and read the content in the nested component`,
      step: 'forEach',
    });
  }
  return { path, input, hash: elementHash(encoded), sizeBytes };
}

/** What of a child's end fails its parent. */
export function failureOf(outcome: RunOutcome, step: string): RunError | undefined {
  if (outcome.kind === 'failed') return outcome.error;
  if (outcome.kind !== 'cancelled') return undefined;
  return { class: 'transient', message: `a nested run was cancelled: ${outcome.why}`, step };
}

/** Records that a run's component is about to change below (N4), once a run. */
async function markChanging(run: Run, services: Services, ref: ComponentRef): Promise<void> {
  if (run.isMarked) return;
  await run.cancellation.race(services.intents.ask({ ...ref, token: run.token, rows: NO_ROWS }));
  run.isMarked = true;
}

const NO_ROWS: ReadonlyMap<string, Uint8Array> = new Map();

/** Deletes the components directly below that `isUnwanted`, each with all below it, by delete runs (A10). Throws the first failure. */
export async function deleteChildren(
  run: Run,
  services: Services,
  ref: ComponentRef,
  isUnwanted: (child: string) => boolean,
): Promise<void> {
  let failure: RunError | undefined;
  for (let after = ''; ; ) {
    const page = await run.cancellation.race(services.state.children(ref.path, after, CHILDREN_PAGE));
    for (const child of page.filter(isUnwanted)) {
      await markChanging(run, services, ref);
      while (!run.mounts.hasRoom) await run.cancellation.race(run.mounts.change());
      run.mounts.mount(deleteRequest(run, child), (outcome) => {
        failure ??= failureOf(outcome, 'delete');
      });
    }
    after = page.at(-1) ?? '';
    if (page.length < CHILDREN_PAGE) break;
  }
  await run.drained();
  if (failure !== undefined) throw new RunFailure(failure);
}

export function deleteRequest({ order: { source, key } }: Run, path: string) {
  return {
    path,
    kind: 'delete' as const,
    version: 'delete',
    rows: 1,
    ...(source === undefined ? {} : { source }),
    ...(key === undefined ? {} : { key }),
  };
}
