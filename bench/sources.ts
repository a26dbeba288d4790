// Listing and watching of sources, beside the plain way: a recursive readdir with lstat in this process, chokidar for events, and
// `git ls-tree` alone for git.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { watch as chokidar } from 'chokidar';
import { systemClock } from '../runner/clock.ts';
import type { Source } from '../runner/execute/index.ts';
import { openSource, type SourceSpec } from '../runner/sources/index.ts';
import { type Bench, type Result, result } from './report.ts';

const FILES = 400_000;
const FILES_WATCHED = 20_000;
const PROBES = 200;

const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const signal = new AbortController().signal;

const open = (spec: SourceSpec, folder: string): Source =>
  openSource(spec, {
    name: 'bench',
    clock: systemClock,
    cacheDir: join(folder, '.cache'),
    baseDir: folder,
    secret: async () => '',
  });

/** Folders of 50 files, twenty to a folder. */
function fill(root: string, files: number): void {
  for (let at = 0; at < files; at++) {
    const folder = join(root, `d${Math.floor(at / 1_000)}`, `e${Math.floor(at / 50) % 20}`);
    if (at % 50 === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `file-${at}.ts`), `export const x${at} = ${at};\n`);
  }
}

async function perSecond(count: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  const items = await count();
  return (items / (performance.now() - startMs)) * 1_000;
}

async function listed(source: Source): Promise<number> {
  let items = 0;
  for await (const batch of source.list({ signal })) items += batch.length;
  return items;
}

function plainly(folder: string): number {
  let items = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) items += plainly(path);
    else if (lstatSync(path, { bigint: true }).isFile()) items++;
  }
  return items;
}

async function listing(root: string): Promise<Result[]> {
  const source = open({ directory: { path: root } }, root);
  const first = source.list({ signal })[Symbol.asyncIterator]();
  const startMs = performance.now();
  await first.next();
  const firstMs = performance.now() - startMs;
  await first.return?.();
  const before = process.memoryUsage().rss;
  const rate = await perSecond(() => listed(source));
  const grown = (process.memoryUsage().rss - before) / (1 << 20);
  await source.close();
  return [
    result('directory-files-per-second', rate, 'files/s', await perSecond(async () => plainly(root))),
    result('directory-first-batch-ms', firstMs, 'ms'),
    result('directory-listing-grows-mib', Math.max(0, grown), 'MiB'),
  ];
}

async function listingGit(root: string): Promise<Result[]> {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'gc.auto=0', ...args], {
      stdio: 'ignore',
    });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'all');
  git('repack', '-adq');
  const source = open({ git: { url: root } }, root);
  const rate = await perSecond(() => listed(source));
  const plain = await perSecond(async () => {
    const { stdout } = await promisify(execFile)('git', ['-C', root, 'ls-tree', '-r', '-l', 'HEAD'], {
      maxBuffer: 1 << 30,
    });
    return stdout.split('\n').length;
  });
  await source.close();
  return [result('git-files-per-second', rate, 'files/s', plain)];
}

interface Latencies {
  readonly armMs: number;
  readonly sorted: readonly number[];
}

/** Writes a file, waits for its event, removes it, waits again. */
async function latencies(root: string, arm: () => Promise<(name: string) => Promise<void>>): Promise<Latencies> {
  const startMs = performance.now();
  const told = await arm();
  const armMs = performance.now() - startMs;
  const taken: number[] = [];
  for (let at = 0; at < PROBES; at++) {
    const name = `d1/e3/probe-${at}`;
    const event = told(name);
    const writtenMs = performance.now();
    writeFileSync(join(root, name), 'x');
    await event;
    taken.push(performance.now() - writtenMs);
    unlinkSync(join(root, name));
  }
  return { armMs, sorted: taken.sort((a, b) => a - b) };
}

async function watching(root: string): Promise<Result[]> {
  const source = open({ directory: { path: root } }, root);
  const ours = await latencies(root, async () => {
    const changes = source.watch?.(signal)[Symbol.asyncIterator]();
    await changes?.next();
    return async (name) => {
      for (;;) if ((await changes?.next())?.value?.some(({ key }: { key: string }) => key === name) === true) return;
    };
  });
  await source.close();
  const peer = chokidar(root, { ignoreInitial: true });
  const theirs = await latencies(root, async () => {
    await new Promise<void>((resolve) => peer.once('ready', resolve));
    return (name) =>
      new Promise((resolve) => {
        const look = (path: string) => {
          if (!path.endsWith(name)) return;
          peer.off('add', look);
          resolve();
        };
        peer.on('add', look);
      });
  });
  await peer.close();
  const at = ({ sorted }: Latencies, part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
  return [
    result('watch-arm-20k-ms', ours.armMs, 'ms', theirs.armMs),
    result('watch-event-p50-ms', at(ours, 0.5), 'ms', at(theirs, 0.5)),
    result('watch-event-p99-ms', at(ours, 0.99), 'ms', at(theirs, 0.99)),
    result('watch-event-worst-ms', at(ours, 1), 'ms', at(theirs, 1)),
  ];
}

async function within<T>(files: number, body: (root: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(base, 'fairlead-bench-'));
  try {
    fill(root, files);
    return await body(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export const sources: Bench = async () => [
  ...(await within(FILES_WATCHED, watching)),
  ...(await within(FILES, async (root) => [...(await listing(root)), ...(await listingGit(root))])),
];
