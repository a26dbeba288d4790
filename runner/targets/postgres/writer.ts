// Writes a group of components' changes in bulk: a few statements for a group, whatever the number of components.
//   R1. A row belongs to one owner; its id is unique.
//   R2. Deletes come before upserts; the same change twice leaves the same rows.
//   R3. Rows of an owner that was adopted from a lost state go with the first change that its component writes.
import { binary, type Queryable } from '../../database/index.ts';
import type { RowChange, TargetRow } from '../../execute/index.ts';
import { plainWords } from '../words.ts';
import { type TargetSettings, tableOf } from './schema.ts';

export class RowWriter {
  readonly #on: Queryable;
  readonly #settings: TargetSettings;
  readonly #table: string;
  readonly #vectorType: number;

  /** `vectorType`: number of the type `vector` in this database; 0 without vectors. */
  constructor(on: Queryable, settings: TargetSettings, vectorType: number) {
    this.#on = on;
    this.#settings = settings;
    this.#table = tableOf(settings);
    this.#vectorType = vectorType;
  }

  async apply(changes: readonly RowChange[], hasAdopted: boolean): Promise<void> {
    for (const run of distinctOwners(changes)) await this.#applyRun(run, hasAdopted);
  }

  async #applyRun(changes: readonly RowChange[], hasAdopted: boolean): Promise<void> {
    await this.#clear(changes.filter(({ deleteAll }) => deleteAll).map(({ owner }) => owner));
    if (hasAdopted) await this.#clearAdopted(changes.map(({ owner }) => owner));
    await this.#delete(changes.flatMap(({ owner, deletes }) => deletes.map((id) => ({ owner, id }))));
    await this.#upsert(changes.flatMap(({ upserts }) => upserts));
    await this.#touch(changes.flatMap(({ touches }) => touches));
  }

  async #clear(owners: readonly string[]): Promise<void> {
    if (owners.length > 0)
      await this.#on.run(`DELETE FROM ${this.#table} WHERE owner = ANY($1::text[])`, [binary.texts(owners)]);
  }

  async #clearAdopted(owners: readonly string[]): Promise<void> {
    await this.#on.run(`DELETE FROM ${this.#table} WHERE adopted AND owner = ANY($1::text[])`, [binary.texts(owners)]);
  }

  async #delete(rows: readonly { readonly owner: string; readonly id: string }[]): Promise<void> {
    if (rows.length === 0) return;
    await this.#on.run(
      `DELETE FROM ${this.#table} t USING unnest($1::uuid[], $2::text[]) AS n(id, owner) WHERE t.id = n.id AND t.owner = n.owner`,
      [binary.uuids(rows.map(({ id }) => id)), binary.texts(rows.map(({ owner }) => owner))],
    );
  }

  async #upsert(rows: readonly TargetRow[]): Promise<void> {
    if (rows.length === 0) return;
    const columns = [...PLAIN, ...this.#special()];
    const sets = columns.slice(1).map(({ name }) => `${name} = excluded.${name}`);
    await this.#on.run(
      `INSERT INTO ${this.#table}(${columns.map(({ name }) => name).join(', ')}) SELECT ${columns.map(({ sql }) => sql).join(', ')}
       FROM unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')}) AS n(${columns.map(({ name }) => name).join(', ')})
       ON CONFLICT (id) DO UPDATE SET ${sets.join(', ')}, adopted = false`,
      columns.map(({ values }) => values(rows)),
    );
  }

  /** A row that should be there and is not (somebody deleted it) is left to `verify`. */
  async #touch(rows: readonly TargetRow[]): Promise<void> {
    if (rows.length === 0) return;
    const sets = PLAIN.slice(1).map(({ name, sql }) => `${name} = ${sql}`);
    await this.#on.run(
      `UPDATE ${this.#table} t SET ${sets.join(', ')}
       FROM unnest(${PLAIN.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')}) AS n(${PLAIN.map(({ name }) => name).join(', ')})
       WHERE t.id = n.id`,
      PLAIN.map(({ values }) => values(rows)),
    );
    if (this.#settings.vector === undefined) return;
    const withVector = rows.filter(({ element }) => element.vector !== undefined);
    if (withVector.length > 0) await this.#upsert(withVector);
  }

  #special(): Column[] {
    const { vector, fullText, language } = this.#settings;
    return [
      ...(vector === undefined ? [] : [embeddingColumn(this.#vectorType), VECTOR_KEY]),
      ...(fullText ? [wordsColumn(language)] : []),
    ];
  }

  /** Indexes the words of all rows, for a target whose full text search was turned on later. */
  async indexAll(): Promise<void> {
    for (let after = NO_ID; ; ) {
      const rows = await this.#on.rows<[string, string, string | null]>(
        `SELECT id, key, text FROM ${this.#table} WHERE id > $1 ORDER BY id LIMIT 1000`,
        [after],
      );
      const last = rows.at(-1);
      if (last === undefined) return;
      await this.#on.run(
        `UPDATE ${this.#table} t SET words = to_tsvector('${this.#settings.language}', n.words)
         FROM unnest($1::uuid[], $2::text[]) AS n(id, words) WHERE t.id = n.id`,
        [
          binary.uuids(rows.map(([id]) => id.replaceAll('-', ''))),
          binary.texts(rows.map(([, key, text]) => plainWords(key, text ?? ''))),
        ],
      );
      after = last[0];
    }
  }
}

export const NO_ID = '00000000-0000-0000-0000-000000000000';

interface Column {
  readonly name: string;
  /** Type of one element of the parameter. */
  readonly type: string;
  /** The value in terms of the parameter's columns `n`. */
  readonly sql: string;
  readonly values: (rows: readonly TargetRow[]) => Buffer;
}

const column = (name: string, type: string, values: Column['values'], sql = `n.${name}`): Column => ({
  name,
  type,
  sql,
  values,
});

/** Columns that every target has; `id` first. */
const PLAIN: readonly Column[] = [
  column('id', 'uuid', (rows) => binary.uuids(rows.map(({ id }) => id))),
  column('owner', 'text', (rows) => binary.texts(rows.map(({ owner }) => owner))),
  column('source', 'text', (rows) => binary.texts(rows.map(({ source }) => source))),
  column('key', 'text', (rows) => binary.texts(rows.map(({ key }) => key))),
  column('text', 'text', (rows) => binary.texts(rows.map(({ element }) => element.text))),
  column('start_byte', 'int8', (rows) => binary.bigints(rows.map(({ element }) => element.place?.startByte))),
  column('end_byte', 'int8', (rows) => binary.bigints(rows.map(({ element }) => element.place?.endByte))),
  column('start_line', 'int4', (rows) => binary.ints(rows.map(({ element }) => element.place?.startLine))),
  column('end_line', 'int4', (rows) => binary.ints(rows.map(({ element }) => element.place?.endLine))),
  column('language', 'text', (rows) => binary.texts(rows.map(({ element }) => element.language))),
  column(
    'fields',
    'text',
    (rows) => binary.texts(rows.map(({ element }) => (element.fields === undefined ? null : jsonOf(element.fields)))),
    'n.fields::jsonb',
  ),
];

/** `jsonb` cannot hold the character NUL. */
const jsonOf = (fields: unknown): string => JSON.stringify(fields).replaceAll('\\u0000', '\\ufffd');

function embeddingColumn(vectorType: number): Column {
  return column('embedding', 'vector', (rows) =>
    binary.binaryArray(
      vectorType,
      rows.map(({ element }) => (element.vector === undefined ? null : binary.vectorBytes(element.vector))),
    ),
  );
}

const VECTOR_KEY = column('vector_key', 'uuid', (rows) => binary.uuids(rows.map(({ element }) => element.vectorKey)));

const wordsColumn = (language: string): Column =>
  column(
    'words',
    'text',
    (rows) => binary.texts(rows.map(({ key, element }) => plainWords(key, element.text ?? ''))),
    `to_tsvector('${language}', n.words)`,
  );

/** Changes in runs without a repeated owner: a statement cannot touch a row twice. */
function distinctOwners(changes: readonly RowChange[]): RowChange[][] {
  const runs: RowChange[][] = [];
  let seen = new Set<string>();
  for (const change of changes) {
    if (runs.length === 0 || seen.has(change.owner)) {
      runs.push([]);
      seen = new Set();
    }
    seen.add(change.owner);
    runs.at(-1)?.push(change);
  }
  return runs;
}
