// Compares what the state says that a target holds with what it holds, both ways.
//   V1. Both may be at work: a difference counts only if the component's record, read once more after the target, still says so and nothing of the
//       component is under way.
//   V2. Rows are compared so many at a time, parted by their ids: memory is bounded, whatever the target holds.
import { ANSWER_MAX_BYTES, type Difference, itemPath, pathKeys, type Verified } from '../protocol/index.ts';
import type { ComponentRecord, StateStore, Target } from './ports.ts';
import { unpackRows } from './rows.ts';

const PAGE = 1_000;
/** About 150 bytes each. */
const ROWS_AT_ONCE = 500_000;
/** Differences that are told one by one; the rest is counted. */
const SHOWN_MAX = 1_000;

export interface Audit {
  readonly found: Verified;
  /** Components whose rows differ, all of them. */
  readonly owners: ReadonlySet<string>;
}

/** What is read. `wait`: around each wait for a store, such as one that ends with a run. */
export interface Audited {
  readonly state: Pick<StateStore, 'scanItems' | 'children' | 'components'>;
  readonly targets: readonly Pick<Target, 'name' | 'scan'>[];
  readonly wait?: <T>(answer: Promise<T>) => Promise<T>;
  readonly rowsAtOnce?: number;
}

type AuditedTarget = Audited['targets'][number];

export async function auditTargets(audited: Audited): Promise<Audit> {
  const auditor = new Auditor(audited);
  for (const target of audited.targets) await auditor.compare(target);
  return auditor;
}

/** A part of all ids. */
interface Share {
  readonly part: number;
  readonly of: number;
}

const WHOLE: Share = { part: 0, of: 1 };

type Candidate = Pick<Difference, 'kind' | 'row' | 'owner'>;

class Auditor implements Audit {
  readonly owners = new Set<string>();
  readonly #state: Audited['state'];
  readonly #wait: NonNullable<Audited['wait']>;
  readonly #rowsAtOnce: number;
  readonly #differences: Difference[] = [];
  #shownBytes = 0;
  #rows = 0;
  readonly #counts = { missing: 0, surplus: 0 };

  constructor({ state, wait = (answer) => answer, rowsAtOnce = ROWS_AT_ONCE }: Audited) {
    this.#state = state;
    this.#wait = wait;
    this.#rowsAtOnce = rowsAtOnce;
  }

  get found(): Verified {
    return { rows: this.#rows, ...this.#counts, differences: this.#differences };
  }

  async compare(target: AuditedTarget): Promise<void> {
    const all = await this.#recorded(target, WHOLE);
    this.#rows += all.count;
    if (all.count <= this.#rowsAtOnce) return this.#compare(target, all.rows, WHOLE);
    all.rows.clear();
    const of = Math.ceil(all.count / this.#rowsAtOnce); // V2
    for (let part = 0; part < of; part++) {
      const { rows } = await this.#recorded(target, { part, of });
      await this.#compare(target, rows, { part, of });
    }
  }

  async #compare(target: AuditedTarget, recorded: Map<string, string>, share: Share): Promise<void> {
    for await (const page of this.#pagesOf(target)) {
      const surplus: Candidate[] = [];
      for (const { id, owner } of page) {
        if (!isOf(share, id)) continue;
        if (recorded.get(id) === owner) recorded.delete(id);
        else surplus.push({ kind: 'surplus', row: id, owner });
      }
      await this.#weigh(target, surplus);
    }
    const missing = [...recorded].map(([row, owner]): Candidate => ({ kind: 'missing', row, owner }));
    for (let at = 0; at < missing.length; at += PAGE) await this.#weigh(target, missing.slice(at, at + PAGE));
  }

  /** V1. */
  async #weigh(target: AuditedTarget, candidates: readonly Candidate[]): Promise<void> {
    if (candidates.length === 0) return;
    const owners = [...new Set(candidates.map(({ owner }) => owner))];
    const records = await this.#wait(this.#state.components(owners));
    const recordOf = new Map(owners.map((owner, index) => [owner, records[index]]));
    for (const one of candidates) if (stands(one, recordOf.get(one.owner), target)) this.#count(target, one);
  }

  #count({ name: target }: AuditedTarget, { kind, row, owner }: Candidate): void {
    this.#counts[kind]++;
    this.owners.add(owner);
    if (this.#differences.length >= SHOWN_MAX || this.#shownBytes >= ANSWER_MAX_BYTES) return;
    const [source = '', key = ''] = pathKeys(owner);
    const difference: Difference = { target, kind, row, owner, source, key };
    this.#shownBytes += Buffer.byteLength(JSON.stringify(difference));
    this.#differences.push(difference);
  }

  /** Rows that the state records in a target, id to owner; of the whole no more than are compared at once, but counted all. */
  async #recorded(target: AuditedTarget, share: Share) {
    const rows = new Map<string, string>();
    let count = 0;
    for await (const paths of this.#componentPaths()) {
      for (const component of await this.#wait(this.#state.components(paths))) {
        for (const id of rowsOf(component, target)) {
          if (!isOf(share, id)) continue;
          count++;
          if (share !== WHOLE || rows.size < this.#rowsAtOnce) rows.set(id, component!.path);
        }
      }
    }
    return { rows, count };
  }

  async *#pagesOf(target: AuditedTarget): AsyncGenerator<Awaited<ReturnType<Target['scan']>>> {
    for (let after = ''; ; ) {
      const page = await this.#wait(target.scan(after, PAGE));
      yield page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.id;
    }
  }

  /** Paths of all items and of what is nested in them, in pages. */
  async *#componentPaths(): AsyncGenerator<readonly string[]> {
    for (let after = 0; ; ) {
      const page = await this.#wait(this.#state.scanItems({}, after, PAGE));
      const paths = page.map(({ source, key }) => itemPath(source, key));
      if (paths.length > 0) yield paths;
      for (const path of paths) yield* this.#nestedPaths(path);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.id;
    }
  }

  async *#nestedPaths(parent: string): AsyncGenerator<readonly string[]> {
    for (let after = ''; ; ) {
      const page = await this.#wait(this.#state.children(parent, after, PAGE));
      if (page.length > 0) yield page;
      for (const path of page) yield* this.#nestedPaths(path);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last;
    }
  }
}

/** Those too that were written before the target lost its rows, by a rebuild or to somebody's hand: they are missing now. */
function rowsOf(component: ComponentRecord | undefined, { name }: AuditedTarget): string[] {
  const packed = component?.rows.get(name);
  return packed === undefined ? [] : unpackRows(packed).map(({ id }) => id);
}

/** V1. Rows of a component that is under way were recorded as intended before they were applied. */
function stands({ kind, row }: Candidate, record: ComponentRecord | undefined, target: AuditedTarget): boolean {
  if (record?.intended.has(target.name) === true) return false;
  return rowsOf(record, target).includes(row) === (kind === 'missing');
}

function isOf({ part, of }: Share, id: string): boolean {
  if (of === 1) return true;
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % of === part;
}
