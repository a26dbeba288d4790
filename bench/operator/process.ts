// The operator's process, as an image would run it, and what it says about itself at `/metrics`.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { copyFile, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { bundle } from '../../scripts/bundle.ts';
import { OPERATOR_NAMESPACE, type World } from './world.ts';

const POD = 'fairlead-0';
const LOOK_MS = 200;
/** Ten thousand sources make metrics that cost as much as the work that they tell of. */
const LOOK_QUIET_MS = 1_000;
const QUIET_MS = 5_000;
/** Clock ticks of /proc, a second. */
const TICKS = 100;

export interface Reading {
  readonly requests: number;
  readonly cpuMs: number;
  readonly rssMib: number;
}

export class OperatorProcess {
  readonly linkPort: number;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #httpPort: number;
  readonly #startedMs = performance.now();

  private constructor(child: ChildProcess, folder: string, linkPort: number, httpPort: number) {
    this.#child = child;
    this.#folder = folder;
    this.linkPort = linkPort;
    this.#httpPort = httpPort;
  }

  static async start(world: World): Promise<OperatorProcess> {
    // Below node_modules, from where its libraries are found.
    const folder = join(realpathSync('node_modules'), '.cache', `fairlead-bench-${process.pid}`);
    await bundle(join(folder, 'dist'), 'image');
    await copyFile('package.json', join(folder, 'package.json'));
    const spec = { containers: [{ name: 'operator', image: 'a' }] };
    await world.post(`/api/v1/namespaces/${OPERATOR_NAMESPACE}/pods`, { metadata: { name: POD }, spec });
    const [linkPort, httpPort] = [await freePort(), await freePort()];
    const flags = {
      service: 'localhost:7443',
      'runner-image': 'fairlead:bench',
      'link-port': `${linkPort}`,
      'http-port': `${httpPort}`,
      'log-level': 'warn',
      api: 'off',
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    // With the options that the chart sets (charts/fairlead/templates/deployment.yaml).
    const options = ['--enable-source-maps', '--max-semi-space-size=8'];
    const child = spawn(process.execPath, [...options, join(folder, 'dist', 'main.js'), 'operator', ...args], {
      stdio: ['ignore', 2, 'inherit'], // what it says is no result of the bench
      env: {
        ...process.env,
        KUBECONFIG: world.api.kubeconfig,
        FAIRLEAD_POD_NAME: POD,
        FAIRLEAD_POD_NAMESPACE: OPERATOR_NAMESPACE,
      },
    });
    return new OperatorProcess(child, folder, linkPort, httpPort);
  }

  /** Rejects when the process ends by itself: whoever waits for what it does would wait for ever. */
  async untilEnd(): Promise<never> {
    const [code] = (await once(this.#child, 'exit')) as [number | null];
    throw new Error(`the operator ended with code ${code}`);
  }

  /** Seconds from the start of the process to its lead. */
  async untilLeading(): Promise<number> {
    while (!/^fairlead_leader(\{\})? 1/m.test(await this.#metrics())) await this.#wait();
    return (performance.now() - this.#startedMs) / 1000;
  }

  /** Resolves when it wrote nothing for some seconds, with the seconds from its start to the last write. */
  async untilQuiet(): Promise<number> {
    let [writes, sinceMs] = [-1, performance.now()];
    while (performance.now() - sinceMs < QUIET_MS) {
      const now = sum(await this.#metrics(), /^fairlead_api_requests_total\{[^}]*verb="P(?:OST|ATCH)"[^}]*\} (\d+)/gm);
      if (now !== writes) [writes, sinceMs] = [now, performance.now()];
      await pause(LOOK_QUIET_MS);
    }
    return (sinceMs - this.#startedMs) / 1000;
  }

  async read(): Promise<Reading> {
    const [stat, status] = await Promise.all(
      ['stat', 'status'].map((name) => readFile(`/proc/${this.#child.pid}/${name}`, 'utf8')),
    );
    const [user, system] = stat!
      .slice(stat!.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number);
    return {
      requests: sum(await this.#metrics(), /^fairlead_api_requests_total\{[^}]*\} (\d+)/gm),
      cpuMs: ((user! + system!) * 1000) / TICKS,
      rssMib: Number(/VmRSS:\s+(\d+)/.exec(status!)?.[1]) / 1024,
    };
  }

  async stop(): Promise<void> {
    const exit = this.#child.exitCode === null ? once(this.#child, 'exit') : undefined;
    this.#child.kill('SIGTERM');
    await exit;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #metrics(): Promise<string> {
    if (this.#child.exitCode !== null) throw new Error(`the operator ended with code ${this.#child.exitCode}`);
    try {
      return await (await fetch(`http://127.0.0.1:${this.#httpPort}/metrics`)).text();
    } catch {
      return ''; // not there yet
    }
  }

  #wait(): Promise<void> {
    return pause(LOOK_MS);
  }
}

const sum = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((total, match) => total + Number(match[1]), 0);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
