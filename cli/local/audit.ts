// Compares what the state says that a target holds with what it holds, both ways.
import type { Assembly } from '../../runner/assemble/index.ts';
import { type StateStore, type Target, unpackRows } from '../../runner/execute/index.ts';
import { itemPath, pathKeys } from '../../runner/protocol/index.ts';

const PAGE = 1_000;
/** Differences that are told one by one; the rest is counted. */
const SHOWN_MAX = 1_000;

/** A row that only one side knows. `missing`: the target lacks it. `surplus`: the state does not know it. */
export interface Difference {
  readonly target: string;
  readonly kind: 'missing' | 'surplus';
  readonly row: string;
  readonly owner: string;
  readonly source: string;
  readonly key: string;
}

export interface Audit {
  readonly rows: number;
  readonly missing: number;
  readonly surplus: number;
  /** At most 1,000. */
  readonly differences: readonly Difference[];
  /** Components whose rows differ, all of them. */
  readonly owners: ReadonlySet<string>;
}

/** Compares every target with the state. Memory grows with the rows: about 150 bytes each. */
export async function auditTargets({ stores }: Pick<Assembly, 'stores'>): Promise<Audit> {
  const differences: Difference[] = [];
  const owners = new Set<string>();
  const counts = { rows: 0, missing: 0, surplus: 0 };
  for (const target of stores.targets) {
    const recorded = await recordedRows(stores.state, target);
    counts.rows += recorded.size;
    const differ = (kind: Difference['kind'], row: string, owner: string) => {
      counts[kind]++;
      owners.add(owner);
      const [source = '', key = ''] = pathKeys(owner);
      if (differences.length < SHOWN_MAX) differences.push({ target: target.name, kind, row, owner, source, key });
    };
    for await (const { id, owner } of rowsOf(target)) {
      if (recorded.get(id) === owner) recorded.delete(id);
      else differ('surplus', id, owner);
    }
    for (const [row, owner] of recorded) differ('missing', row, owner);
  }
  return { ...counts, differences, owners };
}

async function* rowsOf(target: Target): AsyncGenerator<{ readonly id: string; readonly owner: string }> {
  for (let after = ''; ; ) {
    const page = await target.scan(after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

/** Rows of all components that the state records in a target: id to owner. */
async function recordedRows(state: StateStore, target: Target): Promise<Map<string, string>> {
  const rows = new Map<string, string>();
  for await (const paths of componentPaths(state)) {
    for (const component of await state.components(paths)) {
      const packed = component?.rows.get(target.name);
      if (component === undefined || packed === undefined) continue;
      for (const { id } of unpackRows(packed, target.identity)) rows.set(id, component.path);
    }
  }
  return rows;
}

/** Paths of all items and of what is nested in them, in pages. */
async function* componentPaths(state: StateStore): AsyncGenerator<readonly string[]> {
  for (let after = 0; ; ) {
    const page = await state.scanItems({}, after, PAGE);
    const paths = page.map(({ source, key }) => itemPath(source, key));
    if (paths.length > 0) yield paths;
    for (const path of paths) yield* nestedPaths(state, path);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

async function* nestedPaths(state: StateStore, parent: string): AsyncGenerator<readonly string[]> {
  for (let after = ''; ; ) {
    const page = await state.children(parent, after, PAGE);
    if (page.length > 0) yield page;
    for (const path of page) yield* nestedPaths(state, path);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last;
  }
}
