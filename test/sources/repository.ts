// Real git repositories for tests, and servers for them on the loopback.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { dirname } from 'node:path';
import type { Source } from '../../runner/execute/index.ts';
import { type GitSpec, openSource, type SourceOptions } from '../../runner/sources/index.ts';
import { sourceOptions, TempFolder } from './folder.ts';

const IDENTITY = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

export class Repo extends TempFolder {
  constructor(...options: readonly string[]) {
    super();
    this.git('init', '-q', '-b', 'main', ...options, '.');
    this.git('config', 'uploadpack.allowAnySHA1InWant', 'true');
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.path, env: { ...process.env, ...IDENTITY }, stdio: 'pipe' })
      .toString()
      .trim();
  }

  /** Commits everything, after writing `files`; gives the commit. */
  commit(files: Readonly<Record<string, string>> = {}): string {
    this.write(files);
    this.git('add', '-A');
    this.git('commit', '-q', '--allow-empty', '-m', 'a commit');
    return this.git('rev-parse', 'HEAD');
  }
}

export function openGit(folder: TempFolder, spec: Partial<GitSpec> = {}, options: Partial<SourceOptions> = {}): Source {
  return openSource({ git: { url: folder.path, ...spec } }, sourceOptions(folder, options));
}

/** `git daemon` that serves one repository; resolves with its address. */
export async function serveByDaemon(repo: Repo): Promise<{ readonly url: string; close(): Promise<void> }> {
  const port = await freePort();
  const args = [
    'daemon',
    '--export-all',
    '--reuseaddr',
    '--listen=127.0.0.1',
    `--port=${port}`,
    `--base-path=${dirname(repo.path)}`,
  ];
  const child = spawn('git', args, { stdio: 'ignore', detached: true });
  await listening(port, child);
  return {
    url: `git://127.0.0.1:${port}/${repo.path.slice(dirname(repo.path).length + 1)}`,
    close: async () => {
      const ended = new Promise((resolve) => child.once('close', resolve));
      // The daemon is a child of `git`: the group of both is ended.
      process.kill(-(child.pid ?? 0), 'SIGTERM');
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`git daemon ended with ${child.exitCode}`);
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
  }
}

/** `git http-backend` behind a small web server that may ask for a password; counts requests and keeps their headers. */
export class HttpHost {
  readonly requests: { readonly url: string; readonly authorization: string | undefined }[] = [];
  readonly #server: Server;
  readonly #root: string;
  readonly #login: string | undefined;
  /** Answers instead of git, where it answers at all. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;

  private constructor(root: string, login: string | undefined) {
    this.#root = root;
    this.#login = login;
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  static async start(repo: Repo, login?: string): Promise<HttpHost> {
    const host = new HttpHost(dirname(repo.path), login);
    host.#server.listen(0, '127.0.0.1');
    await new Promise((resolve) => host.#server.once('listening', resolve));
    return host;
  }

  url(repo: Repo): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/${repo.path.slice(this.#root.length + 1)}/.git`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const authorization = request.headers.authorization;
    this.requests.push({ url: request.url ?? '', authorization });
    if (this.intercept?.(request, response)) return;
    const wanted = this.#login && `Basic ${Buffer.from(this.#login).toString('base64')}`;
    if (wanted !== undefined && authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('no');
      return;
    }
    this.#backend(request, response);
  }

  #backend(request: IncomingMessage, response: ServerResponse): void {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const env = {
      ...process.env,
      GIT_PROJECT_ROOT: this.#root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    };
    const child = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    request.pipe(child.stdin);
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.once('close', () => {
      const all = Buffer.concat(parts);
      const end = all.indexOf('\r\n\r\n');
      let status = 200;
      for (const line of all.toString('latin1', 0, end).split('\r\n')) {
        const [name = '', value = ''] = line.split(/: */, 2);
        if (name === 'Status') status = Number(value.slice(0, 3));
        else response.setHeader(name, value);
      }
      response.writeHead(status).end(all.subarray(end + 4));
    });
  }
}
