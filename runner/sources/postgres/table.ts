// One table as items, in SQL. Pure: text in, text out.
//   T1. Names come from the spec, which allows letters, digits and `_`; they are quoted, so they mean exactly what is written.
//   T2. The key is the text of the key columns, `%`, `/` escaped and joined by `/`; a key that is another spelling of the same row
//       (`007` for 7) is no key.
//   T3. A row is an item if no key column and not the content is null, and its key is not empty.
import { StepError } from '../../sdk/index.ts';
import type { PostgresSpec } from '../common/spec.ts';

/** Types of the columns, by name. */
export type ColumnTypes = ReadonlyMap<string, string>;

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const tableName = (spec: PostgresSpec): string => `${quoted(spec.schema ?? 'public')}.${quoted(spec.table)}`;

/** Columns that a spec names. */
export function columnsOf(spec: PostgresSpec): string[] {
  return [...spec.key, spec.content, ...(spec.fields ?? []), ...(spec.watermark === undefined ? [] : [spec.watermark])];
}

const escapePart = (text: string): string => text.replaceAll('%', '%25').replaceAll('/', '%2F');
const unescapePart = (text: string): string => text.replaceAll('%2F', '/').replaceAll('%25', '%');

/** Key of the texts of the key columns. */
export function keyOfRow(parts: readonly string[]): string {
  return parts.length === 1 ? (parts[0] ?? '') : parts.map(escapePart).join('/');
}

/** Texts of the key columns; undefined where their number does not fit. */
export function partsOfKey(key: string, columns: number): string[] | undefined {
  if (key === '' || key.includes('\0')) return undefined;
  const parts = columns === 1 ? [key] : key.split('/').map(unescapePart);
  return parts.length === columns ? parts : undefined;
}

export class TableSql {
  readonly #spec: PostgresSpec;
  readonly #types: ColumnTypes;

  constructor(spec: PostgresSpec, types: ColumnTypes) {
    this.#spec = spec;
    this.#types = types;
  }

  get keyColumns(): number {
    return this.#spec.key.length;
  }

  get hasTimeWatermark(): boolean {
    return /^(timestamp|date)/.test(this.#types.get(this.#spec.watermark ?? '') ?? '');
  }

  /** Rows as `k0, k1, …, version, size`. */
  list(): string {
    return `${this.#head()} WHERE ${this.#isItem()}`;
  }

  /** One row by the texts of its key columns ($1, $2, …), as a listing gives it. */
  stat(): string {
    return `${this.#head()} WHERE ${this.#isItem()} AND ${this.#isKey()}`;
  }

  /** The same with `content` (null above the bound, which is the last parameter) and `fields`. */
  read(): string {
    const content = quoted(this.#spec.content);
    const shown = this.#isBytes(this.#spec.content) ? content : `(${content})::text`;
    const bound = `$${this.keyColumns + 1}::int8`;
    const columns = `CASE WHEN ${this.#size()} <= ${bound} THEN ${shown} END AS content, ${this.#fields()} AS fields`;
    return `${this.#head(columns)} WHERE ${this.#isItem()} AND ${this.#isKey()}`;
  }

  /** Rows whose watermark is at least $1, less a margin for transactions that committed late. */
  since(): string {
    const margin = this.hasTimeWatermark ? ` - interval '10 seconds'` : '';
    return `${this.#head()} WHERE ${this.#isItem()} AND ${this.#mark()} >= $1::${this.#typeOf(this.#spec.watermark ?? '')}${margin}`;
  }

  newest(): string {
    return `SELECT max(${this.#mark()})::text AS newest FROM ${tableName(this.#spec)}`;
  }

  #head(more?: string): string {
    const keys = this.#spec.key.map((name, at) => `${quoted(name)}::text AS k${at}`);
    const columns = [
      ...keys,
      `${this.#version()} AS version`,
      `${this.#size()} AS size`,
      ...(more === undefined ? [] : [more]),
    ];
    return `SELECT ${columns.join(', ')} FROM ${tableName(this.#spec)}`;
  }

  #version(): string {
    if (this.#spec.watermark !== undefined) return `coalesce(${this.#mark()}::text, 'null')`;
    const read = [this.#spec.content, ...(this.#spec.fields ?? [])].map(quoted).join(', ');
    return `encode(sha256(convert_to(ROW(${read})::text, 'UTF8')), 'hex')`;
  }

  #size(): string {
    const content = quoted(this.#spec.content);
    return `octet_length(${this.#isBytes(this.#spec.content) ? content : `(${content})::text`})::int8`;
  }

  /** Numbers that JSON cannot hold exactly go as text. */
  #fields(): string {
    const exact = (name: string) =>
      /^(bigint|numeric)/.test(this.#typeOf(name)) ? `${quoted(name)}::text` : quoted(name);
    const pairs = (this.#spec.fields ?? []).map((name) => `'${name}', ${exact(name)}`);
    return `jsonb_build_object(${pairs.join(', ')})`;
  }

  #isItem(): string {
    const there = [...this.#spec.key, this.#spec.content].map((name) => `${quoted(name)} IS NOT NULL`);
    const [first = ''] = this.#spec.key;
    return [...there, ...(this.keyColumns === 1 ? [`${quoted(first)}::text <> ''`] : [])].join(' AND ');
  }

  #isKey(): string {
    return this.#spec.key.map((name, at) => `${quoted(name)} = $${at + 1}::${this.#typeOf(name)}`).join(' AND ');
  }

  #mark(): string {
    return quoted(this.#spec.watermark ?? '');
  }

  #isBytes(name: string): boolean {
    return this.#typeOf(name) === 'bytea';
  }

  #typeOf(name: string): string {
    const type = this.#types.get(name);
    if (type !== undefined) return type;
    throw new StepError(
      'invalid',
      `postgres: the table ${tableName(this.#spec)} has no column ${quoted(name)}; it has ${[...this.#types.keys()].join(', ')}`,
    );
  }
}
