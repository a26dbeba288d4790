// Rows of a component: their ids, the packed list that the state keeps of them, and the difference between two lists.
//
//   R1. A row's id depends on component path, text and occurrence of the text in the component, and on nothing else: a piece that only moved
//       keeps its id, equal input gives equal ids (F37).
//   R2. A row is written again when its vector's key changed, touched when only place, language or fields did, and left alone otherwise.
//   R3. Rows that a target may hold besides the recorded ones (an interrupted commit) count as possibly there and possibly missing: all that are
//       wanted are written again, all others are deleted.
//   R4. A list that was written under another identity of the target names rows that are gone with it.
import type { Element } from '../sdk/index.ts';
import { RunFailure } from './failure.ts';
import { canonicalJson, shortHash } from './hash.ts';
import type { ComponentRecord, RowChange, Target, TargetRow } from './ports.ts';

const HEADER_BYTES = 8;
const ROW_BYTES = 40;
const KEY = /^[0-9a-f]{32}$/;
const NO_VECTOR = '0'.repeat(32);

/** One row of a packed list: hex digits. */
export interface OwnedRow {
  readonly id: string;
  /** Memo key of its vector; all zeros without vector. */
  readonly vectorKey: string;
  /** Hash of place, language and fields. */
  readonly detail: string;
}

/** Packs a list: 8 bytes that stand for the target's identity, then 40 bytes a row (id 16, vector key 16, detail 8). */
export function packRows(identity: string, rows: readonly OwnedRow[]): Uint8Array {
  const packed = Buffer.allocUnsafe(HEADER_BYTES + rows.length * ROW_BYTES);
  packed.write(headerOf(identity), 0, HEADER_BYTES, 'hex');
  let at = HEADER_BYTES;
  for (const row of rows) {
    packed.write(row.id, at, 16, 'hex');
    packed.write(row.vectorKey, at + 16, 16, 'hex');
    packed.write(row.detail, at + 32, 8, 'hex');
    at += ROW_BYTES;
  }
  return packed;
}

/** The rows of a packed list; with `identity`, none if the list was written under another one (R4). */
export function unpackRows(packed: Uint8Array, identity?: string): OwnedRow[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  if (identity !== undefined && bytes.toString('hex', 0, HEADER_BYTES) !== headerOf(identity)) return [];
  const rows: OwnedRow[] = [];
  for (let at = HEADER_BYTES; at + ROW_BYTES <= bytes.length; at += ROW_BYTES) {
    rows.push({
      id: bytes.toString('hex', at, at + 16),
      vectorKey: bytes.toString('hex', at + 16, at + 32),
      detail: bytes.toString('hex', at + 32, at + 40),
    });
  }
  return rows;
}

const headerOf = (identity: string): string => shortHash(identity).slice(0, HEADER_BYTES * 2);

/** What a component has in a target as far as the state knows. */
export interface FormerRows {
  readonly owned: readonly OwnedRow[];
  /** Rows of interrupted commits (R3); absent: nothing is in doubt. */
  readonly doubtful?: readonly OwnedRow[];
}

export function formerRows(record: ComponentRecord | undefined, target: Target): FormerRows {
  const packed = record?.rows.get(target.name);
  const owned = packed === undefined ? [] : unpackRows(packed, target.identity);
  const intended = record?.intended.get(target.name);
  if (intended === undefined) return { owned };
  return { owned, doubtful: intended.flatMap((list) => unpackRows(list, target.identity)) };
}

/** What shall become of a component's rows in a target, and the list to record. */
export interface RowsPlan {
  readonly owned: readonly OwnedRow[];
  readonly change: RowChange;
  /** Vectors that no row of the component needs any more, by key. */
  readonly retired: readonly string[];
}

export interface RowsOwner {
  readonly path: string;
  readonly source: string;
  readonly key: string;
}

/** The rows of elements, with their ids (R1). */
export function rowsOf(owner: RowsOwner, elements: readonly Element[]): { row: TargetRow; owned: OwnedRow }[] {
  const occurrences = new Map<string, number>();
  return elements.map((element) => {
    const base = shortHash(`${owner.path}\n${nameOf(element)}`);
    const occurrence = occurrences.get(base) ?? 0;
    occurrences.set(base, occurrence + 1);
    const id = occurrence === 0 ? base : shortHash(`${base}\n${occurrence}`);
    const row = { id, owner: owner.path, source: owner.source, key: owner.key, element };
    return { row, owned: { id, vectorKey: vectorKeyOf(element), detail: detailOf(element) } };
  });
}

/** What an element is, apart from where it stands. */
function nameOf(element: Element): string {
  if (element.text !== undefined) return `t${element.text}`;
  if (element.bytes !== undefined) return `b${shortHash(element.bytes)}`;
  return `f${canonicalJson(element.fields ?? {})}`;
}

function vectorKeyOf(element: Element): string {
  if (element.vector === undefined) return NO_VECTOR;
  if (element.vectorKey !== undefined) return checkedKey(element.vectorKey);
  const { buffer, byteOffset, byteLength } = element.vector;
  return shortHash(new Uint8Array(buffer, byteOffset, byteLength));
}

function checkedKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new RunFailure({
    class: 'invalid',
    message: `a vector's key has 32 hex digits; a step gave "${key.slice(0, 40)}"`,
  });
}

function detailOf({ place, language, fields }: Element): string {
  const where = place === undefined ? '' : `${place.startByte} ${place.endByte} ${place.startLine} ${place.endLine}`;
  return shortHash(`${where}\n${language ?? ''}\n${fields === undefined ? '' : canonicalJson(fields)}`).slice(0, 16);
}

/** Difference between what was and what the elements want (R2, R3). `rewrite`: full reprocess, everything is written again. */
export function planRows(
  owner: RowsOwner,
  elements: readonly Element[],
  former: FormerRows,
  rewrite: boolean,
): RowsPlan {
  const wanted = rowsOf(owner, elements);
  const before = new Map(former.owned.map((row) => [row.id, row]));
  const inDoubt = rewrite || former.doubtful !== undefined;
  const upserts: TargetRow[] = [];
  const touches: TargetRow[] = [];
  for (const { row, owned } of wanted) {
    const old = inDoubt ? undefined : before.get(owned.id);
    if (old === undefined || old.vectorKey !== owned.vectorKey) upserts.push(row);
    else if (old.detail !== owned.detail) touches.push(row);
  }
  const owned = wanted.map((entry) => entry.owned);
  const gone = goneIds(owned, [...former.owned, ...(former.doubtful ?? [])]);
  const change = { owner: owner.path, upserts, touches, deletes: gone, ...(rewrite ? { deleteAll: true } : {}) };
  return { owned, change, retired: retiredKeys(former.owned, owned) };
}

function goneIds(wanted: readonly OwnedRow[], possible: readonly OwnedRow[]): string[] {
  if (possible.length === 0) return [];
  const ids = new Set(wanted.map((row) => row.id));
  return [...new Set(possible.map((row) => row.id))].filter((id) => !ids.has(id));
}

function retiredKeys(before: readonly OwnedRow[], after: readonly OwnedRow[]): string[] {
  if (before.length === 0) return [];
  const kept = new Set(after.map((row) => row.vectorKey));
  return [...new Set(before.map((row) => row.vectorKey))].filter((key) => key !== NO_VECTOR && !kept.has(key));
}

/** Vector keys that rows of a list hold. */
export function vectorKeys(rows: readonly OwnedRow[]): string[] {
  return [...new Set(rows.map((row) => row.vectorKey))].filter((key) => key !== NO_VECTOR);
}

export function isEmptyChange(change: RowChange): boolean {
  return (
    change.upserts.length === 0 &&
    change.touches.length === 0 &&
    change.deletes.length === 0 &&
    change.deleteAll !== true
  );
}
