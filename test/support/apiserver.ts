// A real API server for tests: etcd and kube-apiserver on loopback, from the folder that KUBEBUILDER_ASSETS names.
// Nothing is shared between two of them; `stop` ends both and removes what they wrote.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Agent, fetch } from 'undici';

const READY_WITHIN_MS = 150_000;
const STOP_WITHIN_MS = 10_000;
const ASK_AGAIN_MS = 50;

/** An answer of the API server. */
export interface Answer {
  readonly status: number;
  /** Parsed JSON; text where the server sent something else. */
  readonly body: unknown;
  /** Texts of its `Warning` headers. */
  readonly warnings: readonly string[];
}

export interface AskOptions {
  readonly contentType?: string;
  readonly token?: string;
}

export interface ApiServer {
  readonly url: string;
  /** Token of an administrator. */
  readonly token: string;
  readonly assets: string;
  /** Path of a kubeconfig for the administrator; the server's certificate is not checked. */
  readonly kubeconfig: string;
  ask(method: string, path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  /** Runs the kubectl of the same folder. */
  kubectl(args: readonly string[], stdin?: string): Promise<{ stdout: string; stderr: string; code: number }>;
  stop(): Promise<void>;
}

/** Folder with kube-apiserver, etcd and kubectl. Throws with advice where there is none. */
export function assetsFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const folder = env.KUBEBUILDER_ASSETS;
  if (folder === undefined || folder === '')
    throw new Error(
      'set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl (scripts/cluster-assets finds one)',
    );
  const missing = ['kube-apiserver', 'etcd', 'kubectl'].filter((name) => !existsSync(join(folder, name)));
  if (missing.length > 0) throw new Error(`${missing.join(', ')} is not in KUBEBUILDER_ASSETS=${folder}`);
  return folder;
}

/** Starts etcd and kube-apiserver, and waits until the API server is ready. `flags`: further ones for the API server. */
export async function startApiServer(options: { readonly flags?: readonly string[] } = {}): Promise<ApiServer> {
  const assets = assetsFolder();
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-apiserver-'));
  const started: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const child of started.toReversed()) await end(child); // the API server first: without its etcd it lingers
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const etcdUrl = await startEtcd(assets, folder, started);
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    const token = 'test-administrator';
    const server = await startServer({ assets, folder, etcdUrl, port, token, flags: options.flags ?? [] });
    started.push(server);
    const kubeconfig = await writeKubeconfig(folder, url, token);
    const api = new Api(url, token, assets, kubeconfig, stop);
    await api.untilReady(server, join(folder, 'kube-apiserver.log'));
    return api;
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startEtcd(assets: string, folder: string, started: ChildProcess[]): Promise<string> {
  const client = `http://127.0.0.1:${await freePort()}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  started.push(
    run(join(assets, 'etcd'), join(folder, 'etcd.log'), [
      `--data-dir=${join(folder, 'etcd')}`,
      '--unsafe-no-fsync',
      '--log-level=error',
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ]),
  );
  return client;
}

async function startServer(how: {
  readonly assets: string;
  readonly folder: string;
  readonly etcdUrl: string;
  readonly port: number;
  readonly token: string;
  readonly flags: readonly string[];
}): Promise<ChildProcess> {
  const key = join(how.folder, 'service-accounts.pem');
  const tokens = join(how.folder, 'tokens.csv');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await writeFile(tokens, `${how.token},administrator,administrator,system:masters\n`, { mode: 0o600 });
  return run(join(how.assets, 'kube-apiserver'), join(how.folder, 'kube-apiserver.log'), [
    `--etcd-servers=${how.etcdUrl}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${how.port}`,
    `--cert-dir=${join(how.folder, 'certificates')}`,
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://localhost',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    '--disable-admission-plugins=ServiceAccount',
    ...how.flags,
  ]);
}

function run(program: string, log: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const file = createWriteStream(log, { flags: 'a' });
  child.stdout.pipe(file, { end: false });
  child.stderr.pipe(file, { end: false });
  child.on('error', (error) => file.write(`${error.message}\n`));
  return child;
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await exit;
  clearTimeout(timer);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port of loopback is free');
  return address.port;
}

async function writeKubeconfig(folder: string, server: string, token: string): Promise<string> {
  const path = join(folder, 'kubeconfig');
  await mkdir(folder, { recursive: true });
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'administrator', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'administrator' } }],
    'current-context': 'test',
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

class Api implements ApiServer {
  readonly url: string;
  readonly token: string;
  readonly assets: string;
  readonly kubeconfig: string;
  readonly #stop: () => Promise<void>;
  readonly #agent = new Agent({ connect: { rejectUnauthorized: false }, allowH2: false });

  constructor(url: string, token: string, assets: string, kubeconfig: string, stop: () => Promise<void>) {
    this.url = url;
    this.token = token;
    this.assets = assets;
    this.kubeconfig = kubeconfig;
    this.#stop = stop;
  }

  async ask(method: string, path: string, body?: unknown, options: AskOptions = {}): Promise<Answer> {
    const answer = await fetch(this.url + path, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${options.token ?? this.token}`,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': options.contentType ?? 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: answer.status,
      body: isJson ? JSON.parse(text) : text,
      warnings: warningsOf(answer.headers.get('warning')),
    };
  }

  async kubectl(args: readonly string[], stdin = ''): Promise<{ stdout: string; stderr: string; code: number }> {
    const called = promisify(execFile)(join(this.assets, 'kubectl'), [`--kubeconfig=${this.kubeconfig}`, ...args]);
    called.child.stdin?.end(stdin);
    try {
      return { ...(await called), code: 0 };
    } catch (error) {
      const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
      return { stdout, stderr, code };
    }
  }

  async untilReady(server: ChildProcess, log: string): Promise<void> {
    const deadline = performance.now() + READY_WITHIN_MS;
    for (;;) {
      if (await this.#isReady()) return;
      if (hasEnded(server) || performance.now() > deadline)
        throw new Error(`kube-apiserver did not become ready:\n${(await readFile(log, 'utf8')).slice(-2000)}`);
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }

  async #isReady(): Promise<boolean> {
    try {
      const ready = await this.ask('GET', '/readyz');
      const namespace = await this.ask('GET', '/api/v1/namespaces/default');
      return ready.status === 200 && namespace.status === 200;
    } catch {
      return false;
    }
  }

  async stop(): Promise<void> {
    await this.#agent.destroy();
    await this.#stop();
  }
}

/** `299 - "text", 299 - "text"`. */
const warningsOf = (header: string | null): string[] =>
  [...(header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map((match) => (match[1] ?? '').replaceAll('\\"', '"'));
