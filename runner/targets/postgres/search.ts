// Hybrid search in one round trip for each half: the nearest vectors, and the best texts by their words, merged by reciprocal rank.
import type { Queryable } from '../../database/index.ts';
import type { SearchHit } from '../../execute/index.ts';
import type { Element } from '../../sdk/index.ts';
import { depthFor, fuse } from '../fusion.ts';
import type { Metric } from '../vectors.ts';
import { queryWords } from '../words.ts';
import { type TargetSettings, tableOf } from './schema.ts';

export interface Query {
  readonly text: string;
  readonly vector?: Float32Array;
  readonly limit: number;
}

/** Operators of pgvector, least first; `<#>` is the negative dot product. */
const OPERATORS: Readonly<Record<Metric, string>> = { cosine: '<=>', l2: '<->', dot: '<#>' };

export async function search(on: Queryable, settings: TargetSettings, query: Query): Promise<SearchHit[]> {
  const depth = depthFor(query.limit);
  const near = await nearest(on, settings, query, depth);
  const best = fuse([near, await matching(on, settings, query, depth)], query.limit);
  const rows = await rowsOf(
    on,
    settings,
    best.map(({ id }) => id),
  );
  return best.flatMap(({ id, score }) => {
    const row = rows.get(id);
    return row === undefined ? [] : [{ source: row[1], key: row[2], score, element: elementOf(row) }];
  });
}

/** A vector of zeros has no direction: its cosine distance is NaN, which sorts after every number. */
async function nearest(on: Queryable, settings: TargetSettings, query: Query, depth: number): Promise<string[]> {
  const { vector, table } = settings;
  if (vector === undefined || query.vector === undefined) return [];
  if (query.vector.length !== vector.dimensions)
    throw new Error(
      `the query has ${query.vector.length} dimensions and the rows of ${table} have ${vector.dimensions}`,
    );
  const rows = await on.rows<[string]>(
    `SELECT id FROM ${tableOf(settings)} ORDER BY embedding ${OPERATORS[vector.metric]} $1::vector LIMIT $2`,
    [`[${query.vector.join(',')}]`, depth],
  );
  return rows.map(([id]) => id);
}

async function matching(on: Queryable, settings: TargetSettings, query: Query, depth: number): Promise<string[]> {
  const words = queryWords(query.text);
  if (!settings.fullText || words.length === 0) return [];
  const wanted = words.map((word) => `'${word}'`).join(' | ');
  const rows = await on.rows<[string]>(
    `SELECT id FROM ${tableOf(settings)}, to_tsquery('${settings.language}', $1) AS wanted WHERE words @@ wanted
     ORDER BY ts_rank(words, wanted, 1) DESC, id LIMIT $2`,
    [wanted, depth],
  );
  return rows.map(([id]) => id);
}

type Cells = [
  id: string,
  source: string,
  key: string,
  text: string | null,
  startByte: number | null,
  endByte: number,
  startLine: number,
  endLine: number,
  language: string | null,
  fields: Element['fields'] | null,
];

async function rowsOf(on: Queryable, settings: TargetSettings, ids: readonly string[]): Promise<Map<string, Cells>> {
  if (ids.length === 0) return new Map();
  const rows = await on.rows<Cells>(
    `SELECT id, source, key, text, start_byte, end_byte, start_line, end_line, language, fields FROM ${tableOf(settings)} WHERE id = ANY($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map((row) => [row[0], row]));
}

function elementOf([, , , text, startByte, endByte, startLine, endLine, language, fields]: Cells): Element {
  return {
    ...(text === null ? {} : { text }),
    ...(startByte === null ? {} : { place: { startByte, endByte, startLine, endLine } }),
    ...(language === null ? {} : { language }),
    ...(fields === null || fields === undefined ? {} : { fields }),
  };
}
