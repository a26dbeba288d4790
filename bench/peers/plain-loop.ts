// The same jobs as a bare loop without an engine: nothing is remembered, compared, fenced or fair. What a program could reach at best.
// plain-loop.ts components COUNT FOLDER | index FILES FOLDER
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { hashTexts } from '../../runner/steps/embed/hash.ts';
import { pathsIn } from '../engine/corpus.ts';

const DIMENSIONS = 384;
const CHUNK_CHARACTERS = 1_200;
const GROUP = 512;
const [job, subject = '', folder = '.'] = process.argv.slice(2);

function open(tables: string): DatabaseSync {
  const database = new DatabaseSync(join(folder, `plain-${job}.db`));
  database.exec(`PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; ${tables}`);
  return database;
}

/** Calls `body` for each, in transactions of GROUP. */
function inGroups<T>(database: DatabaseSync, all: readonly T[], body: (one: T, index: number) => void): void {
  for (let at = 0; at < all.length; at += GROUP) {
    database.exec('BEGIN');
    for (let index = at; index < Math.min(all.length, at + GROUP); index += 1) body(all[index] as T, index);
    database.exec('COMMIT');
  }
}

/** Records that each item was done. */
function components(): void {
  const database = open('CREATE TABLE items(id INTEGER PRIMARY KEY, key TEXT UNIQUE, version TEXT, done_at REAL)');
  const insert = database.prepare('INSERT INTO items(key, version, done_at) VALUES (?, ?, ?)');
  const keys = Array.from({ length: Number(subject) }, (_, index) => `item-${String(index).padStart(7, '0')}`);
  inGroups(database, keys, (key) => insert.run(key, '1', Date.now()));
  database.close();
}

/** Reads, cuts by lines, hashes and inserts rows, vectors and full text. */
function index(): void {
  const database = open(`
    CREATE TABLE rows(n INTEGER PRIMARY KEY, path TEXT, text TEXT);
    CREATE TABLE vectors(n INTEGER PRIMARY KEY, vector BLOB);
    CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61');
  `);
  const row = database.prepare('INSERT INTO rows(n, path, text) VALUES (?, ?, ?)');
  const vector = database.prepare('INSERT INTO vectors(n, vector) VALUES (?, ?)');
  const words = database.prepare('INSERT INTO words(rowid, text) VALUES (?, ?)');
  let n = 0;
  inGroups(database, pathsIn(subject), (path) => {
    const chunks = cutByLines(readFileSync(path, 'utf8'));
    const vectors = hashTexts(chunks, DIMENSIONS);
    chunks.forEach((text, at) => {
      n += 1;
      row.run(n, path, text);
      vector.run(n, new Uint8Array(vectors.buffer, at * DIMENSIONS * 4, DIMENSIONS * 4));
      words.run(n, text);
    });
  });
  database.close();
}

function cutByLines(text: string): string[] {
  const chunks: string[] = [];
  let chunk = '';
  for (const line of text.split('\n')) {
    if (chunk.length + line.length > CHUNK_CHARACTERS && chunk !== '') {
      chunks.push(chunk);
      chunk = '';
    }
    chunk += `${line}\n`;
  }
  return [...chunks, chunk];
}

const beganMs = performance.now();
if (job === 'components') components();
else index();
process.stdout.write(JSON.stringify({ firstS: (performance.now() - beganMs) / 1_000 }));
