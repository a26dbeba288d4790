// How often the right file is found: `node bench/embedders/hits.ts`. The questions of questions.json are asked of this
// repository's own files, by full text, by each offline embedder, and by both joined (reciprocal rank), and the time that each
// embedder takes is shown beside. A question counts as answered by a file, not by a chunk; tests do not count as answers.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { hashTexts } from '../../runner/steps/embed/hash.ts';
import { StaticModel } from '../../runner/steps/embed/static-model.ts';
import { forEachWord } from '../../runner/steps/embed/tokens.ts';
import { languageOf } from '../../runner/steps/split/languages.ts';
import { CHUNK_FIELDS } from '../../runner/steps/split/place.ts';
import { splitText } from '../../runner/steps/split/split-text.ts';

interface Chunk {
  readonly file: string;
  readonly text: string;
}

/** Numbers of chunks by rank, for each question. */
type Ranking = readonly (readonly number[])[];
type Embed = (texts: readonly string[]) => Float32Array;

const RANKED = 60;
const ROOT = new URL('../..', import.meta.url).pathname;
const FILES = /\.(ts|md)$/;
const NOT_ASKED = /^(charts|docs\/pictures|bench\/embedders)|lock|_pb\.ts$/;
const STOP_WORDS = new Set('the a of in to is for that and with who what when how as by it its'.split(' '));

const questions = JSON.parse(readFileSync(new URL('./questions.json', import.meta.url), 'utf8')) as [string, string][];

async function chunksOfRepository(): Promise<Chunk[]> {
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
  const chunks: Chunk[] = [];
  for (const file of files.filter((name) => FILES.test(name) && !NOT_ASKED.test(name))) {
    const text = readFileSync(`${ROOT}/${file}`, 'utf8');
    const { places } = await splitText(text, { by: 'code', language: languageOf(file), chunkSize: 1200, overlap: 200 });
    for (let i = 0; i < places.length; i += CHUNK_FIELDS)
      chunks.push({ file, text: text.slice(places[i], places[i + 1]) });
  }
  return chunks;
}

function wordsOf(text: string): string[] {
  const words: string[] = [];
  forEachWord(text, {
    word: (start, end) => words.push(text.slice(start, end).toLowerCase()),
    identifier: () => undefined,
  });
  return words;
}

function rankByText(chunks: readonly Chunk[]): Ranking {
  const database = new DatabaseSync(':memory:');
  database.exec("create virtual table chunk using fts5(text, tokenize = 'porter unicode61')");
  const insert = database.prepare('insert into chunk(rowid, text) values (?, ?)');
  for (const [i, { file, text }] of chunks.entries()) insert.run(i, `${text} ${wordsOf(`${file} ${text}`).join(' ')}`);
  const select = database.prepare('select rowid from chunk where chunk match ? order by rank limit ?');
  return questions.map(([question]) => {
    const words = wordsOf(question).filter((word) => !STOP_WORDS.has(word));
    return select.all(words.map((word) => `"${word}"`).join(' OR '), RANKED).map((row) => Number(row.rowid));
  });
}

function rankByVector(chunks: readonly Chunk[], embed: Embed): { ranking: Ranking; chunksPerSecond: number } {
  const texts = chunks.map(({ text }) => text);
  embed(texts); // the compiler's share is not the embedder's
  const before = process.cpuUsage();
  const vectors = embed(texts);
  const chunksPerSecond = texts.length / (process.cpuUsage(before).user / 1e6);
  const asked = embed(questions.map(([question]) => question));
  const width = vectors.length / texts.length;
  const ranking = questions.map((_, q) => {
    const question = asked.subarray(q * width, (q + 1) * width);
    const scores = texts.map((__, i) => question.reduce((sum, value, k) => sum + value * vectors[i * width + k]!, 0));
    return [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!).slice(0, RANKED);
  });
  return { ranking, chunksPerSecond };
}

/** Reciprocal rank, as `fairlead query` joins full text and vectors. */
function joined(...rankings: readonly Ranking[]): Ranking {
  return questions.map((_, q) => {
    const scores = new Map<number, number>();
    for (const ranking of rankings) {
      for (const [rank, chunk] of ranking[q]!.entries()) {
        scores.set(chunk, (scores.get(chunk) ?? 0) + 1 / (60 + rank));
      }
    }
    return [...scores.keys()].sort((a, b) => scores.get(b)! - scores.get(a)!);
  });
}

function hits(chunks: readonly Chunk[], ranking: Ranking, within: number): number {
  const found = questions.filter(([, answer], q) => {
    const files = new Set(ranking[q]!.map((chunk) => chunks[chunk]!.file).filter((file) => !file.startsWith('test/')));
    return [...files].slice(0, within).some((file) => new RegExp(`^(${answer})$`).test(file));
  });
  return Math.round((found.length / questions.length) * 100);
}

const chunks = await chunksOfRepository();
const model = await StaticModel.load();
const embedders: readonly (readonly [string, Embed])[] = [
  ['hash', (texts) => hashTexts(texts, 384)],
  [
    'local',
    (texts) => {
      const vectors = new Float32Array(texts.length * model.dimensions);
      for (const [i, text] of texts.entries()) model.embed(text, vectors, i * model.dimensions);
      return vectors;
    },
  ],
];
const print = (name: string, ranking: Ranking, note = '') =>
  process.stdout.write(
    `${name.padEnd(18)} hit@1 ${hits(chunks, ranking, 1)} %  hit@5 ${hits(chunks, ranking, 5)} %  hit@10 ${hits(chunks, ranking, 10)} %  ${note}\n`,
  );

process.stdout.write(`${questions.length} questions, ${chunks.length} chunks\n`);
const byText = rankByText(chunks);
print('full text', byText);
for (const [name, embed] of embedders) {
  const { ranking, chunksPerSecond } = rankByVector(chunks, embed);
  print(name, ranking, `${Math.round(chunksPerSecond)} chunks a second of CPU`);
  print(`${name} + full text`, joined(ranking, byText));
}
