// What a standalone operator keeps in its folder: certificate, token, and the roster, which is what it cannot learn anew after a restart.
//   S1. The epoch grows with each start and is on disk before anything is granted.
//   S2. A runner is in the roster, on disk, before it is told anything.
//   S3. An operator that finds a newer epoch in the roster does not lead any more, and lets nobody in.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../../runner/pid.ts';
import type { ExpectedRunner, Roster } from '../gateway/index.ts';
import { type Certificate, selfSigned } from './certificate.ts';

interface RosterFile {
  readonly epoch: number;
  /** Whoever wrote it. */
  readonly operator?: { readonly host: string; readonly pid: number };
  readonly runners: readonly ExpectedRunner[];
}

export class StandaloneFolder implements Roster {
  readonly path: string;
  readonly epoch: number;
  /** Runners that the operator before had. */
  readonly expected: readonly ExpectedRunner[];
  /** The operator before has ended, and that is certain: it answers no runner any more. */
  readonly isFormerGone: boolean;
  readonly #runners = new Map<string, ExpectedRunner>();

  /** Takes the lead. */
  constructor(path: string) {
    this.path = path;
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const before = this.#read();
    this.epoch = before.epoch + 1;
    this.expected = before.runners;
    const { operator: former } = before;
    this.isFormerGone = former !== undefined && former.host === hostname() && !isRunning(former.pid);
    for (const runner of before.runners) this.#runners.set(runner.session ?? runner.runner, runner);
    this.#write();
  }

  get tokenFile(): string {
    return join(this.path, 'token');
  }

  get certFile(): string {
    return join(this.path, 'tls.crt');
  }

  /** The token that runners show; made once. */
  token(): string {
    if (!existsSync(this.tokenFile))
      writeFileSync(this.tokenFile, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
    return readFileSync(this.tokenFile, 'utf8').trim();
  }

  /** The operator's certificate; made once. */
  async certificate(hosts: readonly string[], nowMs: number): Promise<Certificate> {
    const keyFile = join(this.path, 'tls.key');
    if (!existsSync(keyFile)) {
      const made = await selfSigned(hosts, nowMs);
      writeFileSync(this.certFile, made.cert);
      writeFileSync(keyFile, made.key, { mode: 0o600 });
    }
    return { cert: readFileSync(this.certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  }

  enter(runner: ExpectedRunner): boolean {
    if (this.#read().epoch !== this.epoch) return false;
    this.#runners.set(runner.session ?? runner.runner, runner);
    this.#write();
    return true;
  }

  leave(session: string): void {
    if (!this.#runners.delete(session) || this.#read().epoch !== this.epoch) return;
    this.#write();
  }

  #read(): RosterFile {
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as RosterFile;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { epoch: 0, runners: [] };
      throw error;
    }
  }

  #write(): void {
    const next = `${this.#file}.next`;
    const roster: RosterFile = {
      epoch: this.epoch,
      operator: { host: hostname(), pid: process.pid },
      runners: [...this.#runners.values()],
    };
    const file = openSync(next, 'w', 0o600);
    writeSync(file, JSON.stringify(roster));
    fsyncSync(file);
    closeSync(file);
    renameSync(next, this.#file);
  }

  get #file(): string {
    return join(this.path, 'roster.json');
  }
}
