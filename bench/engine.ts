// The engine in one process, as `fairlead dev` runs it, beside CocoIndex and a plain loop doing the same jobs in the same run. Each measurement is
// a process of its own, so that memory and warmth of one do not show in another.
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPostgres } from '../scripts/postgres.ts';
import { type Corpus, copyCorpus } from './engine/corpus.ts';
import { nodeFlags } from './node-flags.ts';
import { type IndexTimes, Peer, type Times } from './peers/cocoindex.ts';
import { type Bench, type Result, result } from './report.ts';
import { jobText, told } from './told.ts';

const CATCH_UP_ITEMS = 400_000;

export const engine: Bench = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fl-bench-'));
  // Root's Postgres runs as nobody, who has to get there.
  chmodSync(folder, 0o755);
  const postgres = await startServer(join(folder, 'pg'));
  try {
    const parts = new Parts(folder, await Peer.find(), postgres?.url);
    return await parts.all();
  } finally {
    await postgres?.stop();
    rmSync(folder, { recursive: true });
  }
};

type Server = Awaited<ReturnType<typeof startPostgres>>;

async function startServer(folder: string): Promise<Server | undefined> {
  try {
    return await startPostgres(folder);
  } catch (error) {
    process.stderr.write(`left out: everything in Postgres: ${(error as Error).message}\n`);
    return undefined;
  }
}

interface CatchUp {
  readonly tookS: number;
  readonly growthMib: number;
}

class Parts {
  readonly #folder: string;
  readonly #peer: Peer | undefined;
  readonly #url: string | undefined;
  #scratches = 0;

  constructor(folder: string, peer: Peer | undefined, url: string | undefined) {
    this.#folder = folder;
    this.#peer = peer;
    this.#url = url;
  }

  /** Those that FAIRLEAD_BENCH_PARTS names, separated by commas; all where it is not set. */
  async all(): Promise<Result[]> {
    const corpus = copyCorpus(this.#files);
    tellWhat(corpus, this.#peer);
    const parts: Readonly<Record<string, () => Promise<Result[]>>> = {
      'components-20k': () => this.#components(20_000),
      'components-200k': () => this.#components(200_000),
      'catch-up': () => this.#catchUp(),
      index: () => this.#index('index', 'code'),
      'index-text': () => this.#index('index-text', 'text'),
      'index-postgres': async () => (this.#url === undefined ? [] : this.#index('index-postgres', 'code', this.#url)),
      slot: () => this.#slot(),
      watch: () => this.#watch(),
    };
    const wanted = process.env.FAIRLEAD_BENCH_PARTS?.split(',') ?? Object.keys(parts);
    const results = [result('index-files', corpus.files, 'files'), result('index-mb', corpus.bytes / 1e6, 'MB')];
    for (const name of wanted) results.push(...((await parts[name]?.()) ?? []));
    return results;
  }

  get #files(): string {
    return join(this.#folder, 'files');
  }

  async #components(count: number): Promise<Result[]> {
    const ours = await this.#part<Times>('engine/components.ts', String(count), this.#scratch());
    const theirs = await this.#peer?.components(count, this.#scratch());
    const plain = await this.#part<{ firstS: number }>(
      'peers/plain-loop.ts',
      'components',
      String(count),
      this.#scratch(),
    );
    const size = `${count / 1_000}k`;
    return [
      result(`components-first-${size}`, count / ours.firstS, 'components/s', theirs && count / theirs.firstS),
      result(
        `components-unchanged-${size}`,
        count / ours.unchangedS,
        'components/s',
        theirs && count / theirs.unchangedS,
      ),
      result(
        `components-first-${size}-per-cpu-s`,
        count / ours.firstCpuS,
        'components',
        theirs && count / theirs.firstCpuS,
      ),
      result(`rss-${size}-mib`, ours.rssMib, 'MiB', theirs?.rssMib),
      result(`plain-loop-components-${size}`, count / plain.firstS, 'components/s'),
    ];
  }

  async #catchUp(): Promise<Result[]> {
    const results: Result[] = [];
    const places = this.#url === undefined ? [[]] : [[], [this.#url]];
    for (const place of places) {
      const count = String(CATCH_UP_ITEMS);
      const took = await this.#part<CatchUp>('engine/catch-up.ts', count, this.#scratch(), ...place);
      const name = `catch-up-400k${place.length === 0 ? '' : '-postgres'}`;
      results.push(
        result(name, CATCH_UP_ITEMS / took.tookS, 'items/s'),
        result(`${name}-growth-mib`, took.growthMib, 'MiB'),
      );
    }
    return results;
  }

  async #index(name: string, by: 'code' | 'text', url?: string): Promise<Result[]> {
    const place = url === undefined ? [] : [url];
    const ours = await this.#part<IndexTimes>('engine/files.ts', this.#files, this.#scratch(), by, ...place);
    const theirs = await this.#peer?.index(this.#files, this.#scratch(), by, url);
    const results = [
      result(`${name}-first-s`, ours.firstS, 's', theirs?.firstS),
      result(`${name}-unchanged-s`, ours.unchangedS, 's', theirs?.unchangedS),
      result(`${name}-one-file-s`, ours.oneFileS, 's', theirs?.oneFileS),
      result(`${name}-first-cpu-s`, ours.firstCpuS, 's', theirs?.firstCpuS),
      result(`${name}-rss-mib`, ours.rssMib, 'MiB', theirs?.rssMib),
    ];
    if (name !== 'index') return results;
    const plain = await this.#part<{ firstS: number }>('peers/plain-loop.ts', 'index', this.#files, this.#scratch());
    return [...results, result('plain-loop-index-s', plain.firstS, 's')];
  }

  async #slot(): Promise<Result[]> {
    const ours = await this.#part<{ medianMs: number; meanMs: number }>('engine/slot.ts', this.#scratch());
    const theirs = await this.#peer?.slot(this.#scratch());
    return [
      result('slot-ms-per-10ms-run', ours.medianMs, 'ms', theirs?.slotMs),
      result('slot-mean-ms-per-10ms-run', ours.meanMs, 'ms', theirs?.slotMs),
    ];
  }

  async #watch(): Promise<Result[]> {
    // Files are overwritten here: each has a copy of its own.
    const [mine, others] = [join(this.#scratch(), 'files'), join(this.#scratch(), 'files')];
    for (const copy of [mine, others]) cpSync(this.#files, copy, { recursive: true });
    const ours = await this.#part<{ p50Ms: number; worstMs: number }>('engine/freshness.ts', mine, this.#scratch());
    const theirs = await this.#peer?.watch(others, this.#scratch());
    return [
      result('watch-to-row-p50-ms', ours.p50Ms, 'ms', theirs?.p50Ms),
      result('watch-to-row-worst-ms', ours.worstMs, 'ms', theirs?.worstMs),
    ];
  }

  /** Runs a program below `bench/`, which prints what it measured as JSON. */
  async #part<Measured>(program: string, ...args: string[]): Promise<Measured> {
    const path = fileURLToPath(new URL(`./${program}`, import.meta.url));
    // Compiled code is kept from part to part, so that stripping types is not measured.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compiled') };
    const options = { maxBuffer: 1 << 20, env };
    const running = promisify(execFile)(process.execPath, [...nodeFlags(), path, ...args], options);
    const { stdout } = await told(jobText(basename(program, '.ts'), args), running);
    return JSON.parse(stdout) as Measured;
  }

  /** A new folder. */
  #scratch(): string {
    this.#scratches += 1;
    const folder = join(this.#folder, `scratch-${this.#scratches}`);
    mkdirSync(folder);
    return folder;
  }
}

function tellWhat({ files, bytes, kinds }: Corpus, peer: Peer | undefined): void {
  const counts = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
  const beside = peer === undefined ? 'no peer' : `CocoIndex ${peer.version}`;
  process.stderr.write(`engine: ${files} files of ${(bytes / 1e6).toFixed(1)} MB (${counts}) beside ${beside}\n`);
}
