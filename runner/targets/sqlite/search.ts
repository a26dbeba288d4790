// Hybrid search: the nearest vectors by a scan, the best texts by their words, merged by reciprocal rank.
import type { Sqlite } from '../../database/index.ts';
import type { SearchHit } from '../../execute/index.ts';
import type { Element } from '../../sdk/index.ts';
import { depthFor, fuse } from '../fusion.ts';
import { bytesOf, type Metric } from '../vectors.ts';
import { queryWords } from '../words.ts';
import type { TargetSettings } from './schema.ts';

export interface Query {
  readonly text: string;
  readonly vector?: Float32Array;
  readonly limit: number;
}

/** Distance of a stored vector to the query's (`?1`), least first. From |a - b|² = |a|² + |b|² - 2ab follows the order by dot product. */
const DISTANCES: Readonly<Record<Metric, string>> = {
  cosine: 'vec_distance_cosine(vector, ?1)',
  l2: 'vec_distance_l2(vector, ?1)',
  dot: 'vec_distance_l2(vector, ?1) * vec_distance_l2(vector, ?1) - norm',
};

export function search(database: Sqlite, settings: TargetSettings, query: Query): SearchHit[] {
  const depth = depthFor(query.limit);
  const rankings = [nearest(database, settings, query, depth), matching(database, settings, query, depth)];
  return fuse(rankings, query.limit).flatMap(({ id, score }) => hitOf(database, settings, id, score));
}

/** A vector of zeros has no direction: its cosine distance is null and it is left out. */
function nearest(database: Sqlite, { table, vector }: TargetSettings, query: Query, depth: number): number[] {
  if (vector === undefined || query.vector === undefined) return [];
  if (query.vector.length !== vector.dimensions)
    throw new Error(
      `the query has ${query.vector.length} dimensions and the rows of ${table} have ${vector.dimensions}`,
    );
  const sql = `SELECT n, ${DISTANCES[vector.metric]} AS distance FROM ${table}_vectors WHERE distance IS NOT NULL ORDER BY distance, n LIMIT ?2`;
  return database
    .sql(sql)
    .all(bytesOf(query.vector), depth)
    .map((cells) => (cells as unknown as [number])[0]);
}

function matching(database: Sqlite, { table, fullText }: TargetSettings, query: Query, depth: number): number[] {
  const words = queryWords(query.text);
  if (!fullText || words.length === 0) return [];
  const match = words.map((word) => `"${word}"`).join(' OR ');
  const sql = `SELECT rowid FROM ${table}_words WHERE ${table}_words MATCH ? ORDER BY rank, rowid LIMIT ?`;
  return database
    .sql(sql)
    .all(match, depth)
    .map((cells) => (cells as unknown as [number])[0]);
}

type Cells = [
  source: string,
  key: string,
  text: string | null,
  startByte: number | null,
  endByte: number,
  startLine: number,
  endLine: number,
  language: string | null,
  fields: string | null,
];

function hitOf(database: Sqlite, { table }: TargetSettings, n: number, score: number): SearchHit[] {
  const sql = `SELECT o.source, o.key, r.text, r.start_byte, r.end_byte, r.start_line, r.end_line, r.language, r.fields
    FROM ${table}_rows r JOIN ${table}_owners o ON o.id = r.owner WHERE r.n = ?`;
  const cells = database.sql(sql).get(n) as unknown as Cells | undefined;
  if (cells === undefined) return [];
  return [{ source: cells[0], key: cells[1], score, element: elementOf(cells) }];
}

function elementOf(cells: Cells): Element {
  const [, , text, startByte, endByte, startLine, endLine, language, fields] = cells;
  return {
    ...(text === null ? {} : { text }),
    ...(startByte === null ? {} : { place: { startByte, endByte, startLine, endLine } }),
    ...(language === null ? {} : { language }),
    ...(fields === null ? {} : { fields: JSON.parse(fields) }),
  };
}
