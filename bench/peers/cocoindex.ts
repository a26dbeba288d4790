// CocoIndex from PyPI doing the same jobs in the same run, where there is a Python that can have it. It goes into a virtual environment in
// the cache folder, the newest release with the first run; FAIRLEAD_BENCH_PYTHON names another Python that has it; `none` leaves it out.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { jobText, told } from '../told.ts';

const PROGRAM = fileURLToPath(new URL('./cocoindex_peer.py', import.meta.url));
const PACKAGES = ['cocoindex', 'asyncpg', 'pgvector', 'numpy'];
/** Whoever takes longer over a job is left out of it. */
const JOB_MAX_MS = 900_000;

const call = promisify(execFile);

/** What one of us measured of its own process. */
export interface Times {
  readonly firstS: number;
  readonly firstCpuS: number;
  readonly unchangedS: number;
  readonly rssMib: number;
}

export interface IndexTimes extends Times {
  readonly oneFileS: number;
}

export class Peer {
  readonly version: string;
  readonly #python: string;

  private constructor(python: string, version: string) {
    this.#python = python;
    this.version = version;
  }

  /** Undefined, with one line that says why, where it cannot be had. */
  static async find(): Promise<Peer | undefined> {
    const named = process.env.FAIRLEAD_BENCH_PYTHON;
    if (named === 'none') return undefined;
    try {
      const python = named ?? (await installed());
      const { stdout } = await call(python, ['-c', 'import importlib.metadata as m; print(m.version("cocoindex"))']);
      return new Peer(python, stdout.trim());
    } catch (error) {
      leftOut('all of it', error);
      return undefined;
    }
  }

  components(count: number, folder: string) {
    return this.#run<Times>('components', String(count), folder);
  }

  index(files: string, folder: string, by: 'code' | 'text', url?: string) {
    return this.#run<IndexTimes>('index', files, folder, by, ...(url === undefined ? [] : [url]));
  }

  slot(folder: string) {
    return this.#run<{ slotMs: number }>('slot', folder);
  }

  watch(files: string, folder: string) {
    return this.#run<{ p50Ms: number; worstMs: number }>('watch', files, folder);
  }

  /** Undefined, with one line that says why, where the job failed. */
  async #run<Measured>(job: string, ...args: string[]): Promise<Measured | undefined> {
    try {
      const running = call(this.#python, [PROGRAM, job, ...args], { timeout: JOB_MAX_MS, maxBuffer: 1 << 24 });
      const { stdout } = await told(`cocoindex ${jobText(job, args)}`, running);
      return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Measured;
    } catch (error) {
      leftOut(`the job ${[job, ...args].join(' ')}`, error);
      return undefined;
    }
  }
}

async function installed(): Promise<string> {
  const home = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'fairlead', 'bench-peers');
  const python = join(home, 'bin', 'python');
  if (existsSync(join(home, 'ready'))) return python;
  await call('python3', ['-m', 'venv', home]);
  await call(python, ['-m', 'pip', 'install', '-q', '--upgrade', ...PACKAGES], { timeout: JOB_MAX_MS });
  await call(python, ['-c', `open(${JSON.stringify(join(home, 'ready'))}, 'w')`]);
  return python;
}

function leftOut(what: string, error: unknown): void {
  const { stderr, message } = error as { stderr?: string; message: string };
  const reason = stderr?.trim().split('\n').at(-1) || message.split('\n')[0];
  process.stderr.write(`left out: ${what} with CocoIndex: ${reason}\n`);
}
